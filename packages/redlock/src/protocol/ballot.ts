import { nodeTimeoutFor } from "../settings/settings.ts";
import type { Latch } from "../time/cancellation.ts";
import { leaseDeadline, never } from "../time/lease-clock.ts";
import { sleep } from "../time/sleep.ts";
import { RoundClaim } from "./claim.ts";
import type { Context, Deletion } from "./context.ts";
import type { Attempts } from "./execution-stats.ts";
import { isStored, tokenOf } from "./fencing.ts";
import { reportForeign } from "./foreign.ts";
import { Lease } from "./lease.ts";
import type { Answer, Entry, Grant, LockNode, Timed, Yes } from "./node.ts";
import { type Contention, contentionIn, decide, isDecided, type Tally, type Verdict } from "./quorum.ts";
import type { LockRequest } from "./request.ts";
import type { Round, RoundPlan } from "./round.ts";
import type { RoundClocks } from "./round-clocks.ts";
import { Votes } from "./votes.ts";

/** Told of the current round of a ballot that waits. */
export interface Told {
  /** An answer of the round is a vote that counts: it has been counted. */
  onVote(): void;
  /** Any answer, after that. */
  onAnswer(answer: Answer, answers: Tally): void;
  /** Every master has answered or timed out. */
  onClosed(answers: Tally): void;
}

/**
 * A token further ahead of the proposal than this is not explained by clocks that differ: an hour, in microseconds.
 */
const farAhead = 3_600_000_000;

const none: never[] = [];

/**
 * One caller's candidature for a lock, through all rounds: what each master has given it, and until when for sure.
 *
 * A ballot begins with a plain vote (`plainVote`), its round 0; or, where a resource is known to be contended, with its round
 * 1 in the queues. If the plain vote is refused where masters keep queues, the same ballot waits: it asks in further rounds, and grants that are heard meanwhile are votes like others
 * (PROTOCOL 7.7). Its next step is decided elsewhere (`waiting/wait.ts`).
 *
 * - Each round has a token of its own (2.13), and begins without votes (2.14).
 * - A vote counts from the send of the round that asked for it (3.1), however it is heard.
 * - Votes that were given up never count again (7.9).
 */
export class Ballot {
  readonly request: LockRequest;
  readonly attempts: Attempts;
  /** Set once it has won. */
  lease: Lease | undefined;
  /** The proposed fencing token of the next round, if fencing is on. */
  proposal: number | undefined;
  /** The number of rounds in the queue. */
  rounds = 0;
  /** The smallest ticket of others that wait for any of the resources, as far as the votes show. */
  nextTicket: number = Number.POSITIVE_INFINITY;
  /** Whether any master refused because of another owner. */
  wasRefused = false;
  readonly #context: Context;
  #id: string | undefined;
  /** The claim of the round whose votes count; `undefined` while none may. */
  #claim: RoundClaim | undefined;
  /** That round; of a ballot that waits, until it is closed. */
  #round: Round | undefined;
  /** Judges grants that arrive after the round was closed, if the masters' clocks are watched. */
  #clocks: RoundClocks | undefined;
  /** By the place of the master: its counter before its vote. */
  #counters: (number | undefined)[] = none;

  constructor(context: Context, request: LockRequest, attempts: Attempts) {
    this.#context = context;
    this.request = request;
    this.attempts = attempts;
  }

  /** The beginning of its tokens. */
  get id(): string {
    // PROTOCOL 2.1: a new one for each ballot: a late rollback of an earlier one cannot touch the votes of this one.
    this.#id ??= this.#context.tokens.next();
    return this.#id;
  }

  /** The token of the current round (PROTOCOL 2.13). A plain vote is round 0 where its ballot may go on to wait. */
  get token(): string {
    return this.#context.isQueued ? `${this.id}.${this.rounds}` : this.id;
  }

  get #timeout(): number {
    return nodeTimeoutFor(this.request.ttl, this.request.settings);
  }

  get hasVotes(): boolean {
    return this.voteCount > 0;
  }

  get voteCount(): number {
    return this.#deadlines.filter((deadline) => deadline !== never).length;
  }

  /** By the place of the master: until when it keeps its vote for sure. */
  get #deadlines(): readonly number[] {
    return this.#claim?.votes.deadlines ?? none;
  }

  /** How long the lease of its votes would last, ms; `-Infinity` without a quorum (PROTOCOL 3.2). */
  get left(): number {
    const { quorum, clock } = this.#context;
    return leaseDeadline(this.#deadlines, quorum) - clock.now();
  }

  /** PROTOCOL 2.15: votes in a database that was left do not count. */
  get isPlaced(): boolean {
    return this.#claim !== undefined && this.#claim.votes.placement.whyLeft === undefined;
  }

  /** Whether masters may still answer the current round: until its last answer has been heard. */
  get isOpen(): boolean {
    return this.#round !== undefined;
  }

  /** Whether a further answer of the current round may change what comes next: not while the last one is heard. */
  get isAwaited(): boolean {
    return this.#round?.isOpen === true;
  }

  /** Whether the next round may begin: a quorum of masters has answered this one (PROTOCOL 7.11), or it is closed. */
  get isHeard(): boolean {
    if (!this.#round) return true;
    const answered = this.#round.answers.filter((answer) => answer && answer.is !== "fault");
    return answered.length >= this.#context.quorum;
  }

  /** The result of the current round, if it has any answers. */
  get contention(): Contention | undefined {
    return this.#round?.answers.some(Boolean) ? contentionIn(this.#round.answers) : undefined;
  }

  /** Asks for votes in the next round: `entry` is its place in the queues where it is refused. */
  ask(entry?: Entry, told?: Told): Round {
    const { placements, proposals, nodes } = this.#context;
    const { resources, ttl, unless, settings } = this.request;
    this.forget();
    // PROTOCOL 2.13: each round of a waiter has a token of its own.
    if (entry) this.rounds += 1;
    const unheard = nodes.map(() => never);
    const { driftFactor } = settings;
    // PROTOCOL 2.15: the votes belong to the databases that the clients are in now.
    const votes = new Votes(placements.current, resources, this.token, ttl, driftFactor, unheard);
    const claim = new RoundClaim(votes, ttl);
    claim.proposal = this.proposal;
    this.#claim = claim;
    if (proposals) this.#counters = [];
    const verb = entry ? "enqueue" : unless === undefined ? "vote" : "voteUnless";
    const plan: RoundPlan = {
      timeout: this.#timeout,
      // PROTOCOL 2.3: a plain vote is decided as soon as possible: at q yes votes, or with more than N - q against.
      isDecided: entry ? undefined : isDecided,
      onAnswer: (index, answer, asked) => this.#heard(claim, index, answer, asked, told),
    };
    const round = claim.round(this.#context, verb, plan, entry, entry ? undefined : unless);
    claim.sentAt = round.sentAt;
    this.#round = round;
    // A stay in the queues is one attempt, with however many rounds.
    this.attempts.add(round, entry ? this.rounds > 1 : undefined);
    // PROTOCOL 2.2: all masters are asked in parallel.
    round.ask();
    if (told) round.closed.onEnd(() => this.#onClosed(round, told));
    return round;
  }

  /** An answer of a round, perhaps late, or of a round that another has followed. (A grant is no answer: {@link hear}.) */
  #heard(claim: RoundClaim, index: number, answer: Answer, round: Round, told: Told | undefined): void {
    const { admission } = this.#context;
    // Late: the round has given the master up, and keeps that fault as its answer.
    if (!told && round.answers[index] !== answer && answer.is !== "fault")
      admission.recordLateAnswer(round.timeout);
    // PROTOCOL 2.14: a late yes does not count in a later round.
    if (answer.is === "yes" && claim === this.#claim) {
      this.#count(round.sentAt, claim, index, answer);
      told?.onVote();
    } else if (answer.is === "no") {
      this.wasRefused = true;
      reportForeign(this.#context, index, answer);
    }
    if (round === this.#round) told?.onAnswer(answer, round.answers);
  }

  #onClosed(round: Round, told: Told): void {
    if (round !== this.#round) return;
    // Only the result is kept: a wait may be long, and a round is large.
    this.#round = undefined;
    this.#clocks = round.clocks;
    told.onClosed(round.answers);
  }

  /** Master `index` has granted the keys: calls `counted` once that is counted as a vote. */
  hear(index: number, grant: Grant | Timed<Grant>, counted: () => void): void {
    const claim = this.#claim;
    const vote = grant.is === "timed" ? grant.vote : grant;
    // PROTOCOL 2.14: a grant to an earlier round is found and counted by the next one.
    if (vote.token !== claim?.votes.token) return;
    const count = (): void => {
      // PROTOCOL 7.7: when it was granted is not known, only that it was after the send of its round.
      this.#count(claim.sentAt, claim, index, vote);
      counted();
    };
    if (grant.is === "grant") count();
    else {
      const clocks = this.#round ? this.#round.clocks : this.#clocks;
      clocks?.judge(index, grant, (why) => {
        if (why === undefined && claim === this.#claim) count();
      });
    }
  }

  /** The master keeps the key for at least the ttl from the send (PROTOCOL 3.1). */
  #count(sentAt: number, { votes, ttl }: RoundClaim, index: number, vote: Yes | Grant): void {
    if (this.proposal !== undefined) this.#counters[index] = vote.counter;
    this.nextTicket = Math.min(this.nextTicket, vote.nextTicket ?? Number.POSITIVE_INFINITY);
    // PROTOCOL 3.3: a vote after the quorum's prolongs the lease as well, by its own ttl, whatever the lease has asked for since.
    if (this.lease) this.lease.renew(sentAt, index, ttl);
    else votes.count(sentAt, index, ttl);
  }

  /** Makes the lease of its votes. */
  grant(fencingToken?: number, unasked: readonly number[] = none): Lease {
    const claim = this.#claim!;
    if (this.rounds > 0) this.#recordVotes();
    claim.votes.unasked = unasked;
    this.lease = new Lease(this.#context, claim.votes, fencingToken);
    // A question that was not sent yet is abandoned once the lease has ended.
    claim.lease = this.lease;
    return this.lease;
  }

  /** Grants arrive outside the replies of the round. */
  #recordVotes(): void {
    const { latestVotes } = this.attempts;
    const answers = this.#deadlines.map((deadline, index) =>
      deadline === never ? latestVotes[index] : ({ is: "yes", remaining: this.request.ttl } as const),
    );
    this.attempts.add({ answers }, true);
  }

  /**
   * Returns the token of the lease that it has won, once a quorum has stored it; `undefined` if that fails. A second round
   * renews the keys as well, and with them the deadlines. The caller checks the remaining time afterwards.
   *
   * A counter that is far ahead may be corrupt (PROTOCOL 8.4): then the other masters are awaited, of which a quorum may not
   * know it. Once stored, honest masters would return it from then on. For later proposals it is remembered only if more
   * masters than a quorum have named their counters.
   */
  async fence(ended: Latch): Promise<number | undefined> {
    const { nodes, quorum, runtime, proposals } = this.#context;
    const { votes, ttl, proposal } = this.#claim!;
    let token = tokenOf(proposal!, this.#counters, quorum);
    if (token !== undefined && token > proposal! + farAhead) {
      // (Of a round that is closed, later votes arrive as grants.)
      await ended.race(this.#round?.closed.done ?? sleep(runtime, this.#timeout, ended));
      token = tokenOf(proposal!, this.#counters, quorum);
    }
    // The votes have stored the proposal; a larger token takes another round (PROTOCOL 8.2).
    if (token === undefined || token === proposal) return token;
    const madeOf = [...this.#counters];
    const isVouchedFor = madeOf.filter((counter) => counter !== undefined).length > quorum;
    if (isVouchedFor || token <= proposal! + farAhead) proposals!.saw(token);
    const storing = new RoundClaim(votes, ttl);
    storing.proposal = token;
    const verdict = (answers: Tally): Verdict => {
      const stored = answers.filter((answer, index) => isStored(token, madeOf[index], answer)).length;
      return decide(nodes.length, stored, answers.filter(Boolean).length - stored);
    };
    const round = storing.round(this.#context, "extend", {
      timeout: this.#timeout,
      isDecided: (answers) => verdict(answers) !== "open",
      onAnswer: (index, answer, { sentAt }) => {
        // Once there is a lease, it alone changes its votes.
        if (answer.is === "yes" && !this.lease) votes.count(sentAt, index, ttl);
        else if (answer.is === "no" && !this.lease) votes.refuse(index);
      },
    });
    await round.ask().decidedOr(ended);
    if (verdict(round.answers) === "won") return token;
    storing.giveUp();
    // Why the token was not stored: the votes before say yes.
    this.attempts.add(round, true);
    return undefined;
  }

  /** From here on no vote of the round counts (PROTOCOL 2.14, 7.9). */
  forget(): void {
    this.#claim?.giveUp();
    this.#claim = undefined;
    this.#round = undefined;
    this.#clocks = undefined;
    this.nextTicket = Number.POSITIVE_INFINITY;
    this.#counters = none;
  }

  /**
   * Gives its votes up, and deletes them on these masters, behind the question on the same connection, before anything else
   * (PROTOCOL 2.6); with them its queue entries, and what was granted to it is passed on (7.10).
   */
  withdraw(nodes: readonly LockNode[] = this.#context.nodes): Deletion {
    const { resources, ttl } = this.request;
    this.forget();
    const leftover = { resources, token: this.token, ttl };
    return this.#context.deletions.deletion(leftover, nodes, this.#timeout).ask();
  }
}
