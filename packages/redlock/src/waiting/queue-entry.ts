import type { LockRequest } from "../protocol/attempt.ts";
import { QueueEntryClaim } from "../protocol/claim.ts";
import type { Context } from "../protocol/context.ts";
import type { Attempts } from "../protocol/execution-stats.ts";
import { fence } from "../protocol/fencing.ts";
import { Lease } from "../protocol/lease.ts";
import type { Answer, Push, Timed } from "../protocol/node.ts";
import type { Placement } from "../protocol/placement.ts";
import {
  type Contention,
  contentionIn,
  ownersIn,
  type Tally,
  toleratedFailures,
} from "../protocol/quorum.ts";
import { Round } from "../protocol/round.ts";
import type { RoundClocks } from "../protocol/round-clocks.ts";
import { isOfWaiter, newToken } from "../protocol/token.ts";
import { pauseBetween, pauseUntilGone } from "../settings/backoff.ts";
import { nodeTimeoutFor } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { maxTimerDelay, type Timer } from "../time/runtime.ts";
import { sleep } from "../time/sleep.ts";
import { leaseDeadline, never, nodeDeadline } from "../time/validity.ts";
import { type GrantListener, type Listener, pushIn, type Ticket } from "./grant-listener.ts";

/** The time from one enrolment to the next: this part of the ttl, within these bounds, ms. */
const heartbeatFraction = 1 / 4;
const shortestHeartbeat = 250;
const longestHeartbeat = 1000;
/** A place lasts for so many of them: two may be lost. */
const patienceInHeartbeats = 3;
/** Granted with less than this part of the ttl left, the votes are renewed before they are used. */
const leastFraction = 1 / 2;

/**
 * Told once how a stay has ended: with the lease, or without one when it has left all queues; then with the error, where
 * the user's backoff has failed.
 */
export type OnOver = (lease: Lease | undefined, error?: unknown) => void;

/**
 * One stay in the queues of the resources: PROTOCOL 7. It enrols with all masters, which is a vote as well, and from
 * then on waits to be handed their keys. Enrolling again is its heartbeat, and finds what a lost message has hidden.
 *
 * Each enrolment is a round of its own, with a fresh token (PROTOCOL 2.13). A vote counts only in the round that asked for it,
 * from that round's send on (PROTOCOL 2.14), whether it comes as the reply or later, as a push.
 *
 * It goes from one event to the next, instead of awaiting them: thousands may stand at a time, and suspended functions
 * would be most of what each of them takes.
 */
export class Waiter implements Listener {
  readonly #context: Context;
  readonly #grantListener: GrantListener;
  readonly #request: LockRequest;
  readonly #ticket: Ticket;
  readonly #attempts: Attempts;
  /** Until it has been told. */
  #onOver: OnOver | undefined;
  readonly #id: string;
  /** In whose queues it stands. */
  #placement: Placement;
  /** The fencing token that it proposes. */
  #proposal: number | undefined;
  /** Granted, or no longer wanted. */
  #isOver = false;
  #count = 0;
  /** The votes of this round; `undefined` while none may count. */
  #claim: QueueEntryClaim | undefined;
  /** When the round was begun. */
  #sentAt = never;
  /** The round, until it is closed. */
  #round: Round<Answer> | undefined;
  /** What judges the grants of the latest round that is closed, where the masters' clocks are watched. */
  #clocks: RoundClocks | undefined;
  /** What the masters said in the last round that is closed. */
  #contention: Contention | undefined;
  #deadlines: number[] = [];
  #counters: (number | undefined)[] = [];
  /** The masters that have set aside, in this round, what was in the way. */
  readonly #wokenBy = new Set<number>();
  /** While the fencing token is stored, how to end that: then no other round may begin. */
  #fencing: Cancellation | undefined;
  #lease: Lease | undefined;
  /** Runs while the next round is waited for. */
  #nap: Timer | undefined;
  /** Runs from the first vote of a round on. */
  #impatience: Timer | undefined;
  #hasYielded = false;
  /** Whether the votes of this round came too late. */
  #isTooLate = false;
  #isWoken = false;
  #wasRefused = false;

  constructor(
    context: Context,
    grantListener: GrantListener,
    request: LockRequest,
    ticket: Ticket,
    attempts: Attempts,
    onOver: OnOver,
  ) {
    this.#context = context;
    this.#grantListener = grantListener;
    this.#request = request;
    this.#ticket = ticket;
    this.#attempts = attempts;
    this.#onOver = onOver;
    this.#id = newToken(context.runtime);
    this.#placement = context.placements.current;
    this.#propose();
  }

  /** What the masters said last, if anything. */
  get contention(): Contention | undefined {
    const heard = this.#round?.answers.some(Boolean) ? contentionIn(this.#round.answers) : undefined;
    return this.#contention ?? heard;
  }

  /** Whether somebody else was in the way, on any master. */
  get wasRefused(): boolean {
    return this.#wasRefused;
  }

  /** Stands in the queues from now on, until the lock is granted or it gives up. */
  stand(): void {
    this.#grantListener.add(this.#id, this);
    this.#enqueue();
  }

  /** An acquire that was given up leaves nothing behind: it waits for that, one nodeTimeout at most. */
  giveUp(error?: unknown): void {
    if (this.#isOver) return;
    this.#end();
    const { resources, ttl } = this.#request;
    this.#grantListener.giveBack(this.#id, { placement: this.#placement, resources, ttl });
    this.#leave(() => this.#tell(undefined, error));
  }

  /** Not kept: a hold remembers its waiter, and would remember who waited for it as well. */
  #tell(lease: Lease | undefined, error?: unknown): void {
    const tell = this.#onOver;
    this.#onOver = undefined;
    tell?.(lease, error);
  }

  handed(index: number, push: Push | Timed<Push>): void {
    const claim = this.#claim;
    const { token, counter } = pushIn(push);
    // Of this round? A key that was handed to an earlier one is found, and counted, by the next enrolment (PROTOCOL 2.14).
    if (token !== claim?.token) return;
    if (!("reading" in push)) this.#hearYes(index, counter);
    else {
      const clocks = this.#round ? this.#round.clocks : this.#clocks;
      clocks?.judge(index, push, (judged) => {
        if (!("vote" in judged) && claim === this.#claim) this.#hearYes(index, counter);
      });
    }
  }

  woken(index: number, token: string): void {
    if (token !== this.#claim?.token) return;
    this.#wokenBy.add(index);
    // With a quorum of them, and of votes, the next round may well be granted. With less it is not worth its commands.
    const votes = this.#deadlines.filter((deadline) => deadline !== never).length;
    if (this.#wokenBy.size + votes >= this.#context.quorum) this.#wake();
    else this.#wakeSoon();
  }

  listening(): void {
    this.#wake();
  }

  /** PROTOCOL 2.15: it leaves the queues in the database that was left, and stands in those of the other one. */
  moved(): void {
    if (this.#isOver) return;
    this.#fencing?.cancel(new Error("a client was switched to another database"));
    this.#leave(() => {});
    this.#wake();
  }

  /** All masters have answered the round, or had their time to: how long until the next one. */
  #roundClosed(answers: Tally): void {
    // While its fencing token is stored nothing else is done.
    if (this.#isOver || this.#fencing) return;
    try {
      this.#prepareNext(answers);
    } catch (error) {
      // The user's backoff has failed.
      this.giveUp(error);
    }
  }

  #prepareNext(answers: Tally): void {
    const { nodes, placements } = this.#context;
    if (this.#placement !== placements.current) {
      this.#enqueue();
      return;
    }
    const faults = answers.filter((answer) => answer?.vote === "none").length;
    // PROTOCOL 7.12: half cut off it would be the first at a few masters, and keep everybody waiting. It keeps its ticket
    // only.
    if (this.#isTooLate || faults > toleratedFailures(nodes.length)) this.#backOff();
    else if (this.#hasVotes && !this.#hasYielded) {
      // Some votes, but no quorum: what rivals hold of each other must come to one of them. The next round gives
      // these votes up, before it is sent, and to whoever is first, which may be this waiter again.
      this.#hasYielded = true;
      this.#enqueue();
    } else {
      this.#hasYielded = false;
      this.#sleep(this.#untilNext(answers));
    }
  }

  #enqueue(): void {
    const { placements, runtime, clock, report } = this.#context;
    const { resources, ttl, settings } = this.#request;
    const placement = placements.current;
    this.#placement = placement;
    if (this.#hasVotes) this.#propose();
    this.#forgetVotes();
    this.#isWoken = false;
    this.#isTooLate = false;
    this.#count += 1;
    const entryTtl = this.#heartbeat * patienceInHeartbeats + nodeTimeoutFor(ttl, settings);
    const token = `${this.#id}.${this.#count}`;
    const claim = new QueueEntryClaim(
      placement,
      resources,
      token,
      ttl,
      this.#grantListener.valueOf(this.#ticket),
      Math.ceil(entryTtl),
    );
    claim.proposal = this.#proposal;
    this.#claim = claim;
    const round: Round<Answer> = new Round<Answer>({
      nodes: placement.nodes,
      runtime,
      clock,
      timeout: nodeTimeoutFor(ttl, settings),
      ask: (node, settle) => node.queue!.enqueue(claim, settle),
      onAnswer: (index, answer) => {
        if (answer.vote === "yes" && claim === this.#claim) this.#hearYes(index, answer.counter);
        else if (answer.vote === "no") {
          this.#wasRefused = true;
          this.#sawTickets(round.answers);
        } else if (answer.vote === "none") report(answer.error);
        return false;
      },
    });
    this.#sentAt = round.sentAt;
    this.#round = round;
    this.#attempts.add(round, this.#count > 1);
    round.onClosed(() => {
      claim.giveUp();
      // What it came to is kept, and not the round: whoever waits, waits for long.
      this.#round = undefined;
      this.#clocks = round.clocks;
      if (!this.#isOver) this.#contention = contentionIn(round.answers);
      this.#roundClosed(round.answers);
    });
  }

  /** A ticket that fewer masters than a quorum tell of may be nobody's, and would be drawn above for good. */
  #sawTickets(answers: Tally): void {
    const tickets = answers.flatMap((answer) => (answer?.vote === "no" ? [answer.latestTicket ?? 0] : []));
    const latest = tickets.sort((a, b) => b - a)[this.#context.quorum - 1];
    if (latest !== undefined && this.#grantListener.saw(this.#ticket, latest)) this.#wake();
  }

  /** A vote of this round: from its send on the master keeps the key for the ttl, or longer. */
  #hearYes(index: number, counter: number | undefined): void {
    const { quorum, clock } = this.#context;
    const { ttl, settings } = this.#request;
    const claim = this.#claim!;
    const deadline = nodeDeadline(this.#sentAt, ttl, settings.driftFactor);
    this.#deadlines[index] = deadline;
    this.#counters[index] = counter;
    // A vote behind the quorum's still prolongs the hold.
    if (this.#lease) this.#lease.renew(index, deadline);
    if (this.#isOver || this.#fencing) return;
    const left = leaseDeadline(this.#deadlines, quorum) - clock.now();
    // Long after the round the masters have set the keys anew, but only another round tells for how long.
    const isFresh = left >= ttl * leastFraction || this.#round !== undefined;
    if (left > settings.minimumValidity && isFresh) {
      if (claim.proposal === undefined) this.#grant(claim);
      else void this.#fence(claim);
    } else if (left > never && isFresh) this.#cameTooLate();
    else if (left > never) this.#wake();
    // Where the others went is found out soon, and what rivals hold of each other comes to one of them.
    else this.#wakeSoon();
  }

  /**
   * PROTOCOL 2.5: votes with less left than `minimumValidity` are a failed attempt: it leaves the queues for a backoff, and keeps its
   * ticket only. At their head it would be granted the same again and again, and keep everybody else waiting.
   */
  #cameTooLate(): void {
    this.#isTooLate = true;
    // (Else when the round is closed.)
    if (!this.#round) this.#backOff();
  }

  #backOff(): void {
    this.#isTooLate = false;
    this.#endNap();
    const pause = pauseBetween(this.#request.settings, this.#context.runtime, this.#count);
    this.#leave(() => this.#sleep(pause));
  }

  #wakeSoon(): void {
    const { ttl, settings } = this.#request;
    const timeout = nodeTimeoutFor(ttl, settings);
    this.#impatience ??= this.#context.runtime.setTimer(() => this.#wake(), timeout);
  }

  #grant(claim: QueueEntryClaim, fencingToken?: number): void {
    const { placement, resources, token, ttl } = claim;
    const terms = { placement, resources, token, ttl, deadlines: this.#deadlines, fencingToken };
    // What was handed over is no answer of the round.
    const { latestVotes } = this.#attempts;
    const votes = this.#deadlines.map((deadline, index) =>
      deadline === never ? latestVotes[index] : ({ vote: "yes", remaining: ttl } as const),
    );
    this.#attempts.add(votes, true);
    const lease = new Lease(this.#context, terms);
    this.#lease = lease;
    claim.lease = lease;
    this.#end();
    this.#tell(lease);
  }

  /** With all votes that it needs, it is granted as soon as its fencing token is stored. */
  async #fence(claim: QueueEntryClaim): Promise<void> {
    const { quorum, clock, runtime } = this.#context;
    const { settings, ttl } = this.#request;
    const deadlines = this.#deadlines;
    const ended = new Cancellation();
    this.#fencing = ended;
    this.#endNap();
    const told = {
      counters: () => this.#counters,
      // What is granted later is told by pushes.
      all: () => this.#round?.closed ?? sleep(runtime, nodeTimeoutFor(ttl, settings), ended),
    };
    const token = await fence(this.#context, claim, settings, told, deadlines, ended);
    this.#fencing = undefined;
    // (It may have left meanwhile.)
    if (this.#isOver) return;
    const left = leaseDeadline(deadlines, quorum) - clock.now();
    const isWanted = claim.placement.whyLeft === undefined && left > settings.minimumValidity;
    if (token !== undefined && isWanted) {
      this.#grant(claim, token);
      return;
    }
    // Else another round, as soon as this one is over.
    const isTooLate = left > never && left <= settings.minimumValidity;
    if (token !== undefined && isTooLate) this.#cameTooLate();
    else if (this.#round) this.#wake();
    else this.#enqueue();
  }

  /**
   * Like its ticket by when it came, and where two came in the same millisecond, by their names: in the order in which
   * the masters serve them. So nearly always it is above the token of the one before, and no second round is needed.
   */
  #propose(): void {
    const order = Number.parseInt(this.#id.slice(0, 2), 16) / 1000;
    this.#proposal = this.#context.proposals?.at(this.#ticket.drawn + order);
  }

  get #hasVotes(): boolean {
    return this.#deadlines.some((deadline) => deadline !== never);
  }

  get #heartbeat(): number {
    return Math.min(longestHeartbeat, Math.max(shortestHeartbeat, this.#request.ttl * heartbeatFraction));
  }

  /** Hand-overs come by themselves where all take part. Foreign holders, and masters that are not heard, are asked. */
  #untilNext(answers: Tally): number {
    const { runtime } = this.#context;
    if (this.#isWoken) return 0;
    const isTold = this.#grantListener.isListening && ownersIn(answers).every(isOfWaiter);
    const asked = isTold ? this.#heartbeat : pauseBetween(this.#request.settings, runtime, this.#count);
    const { freeIn } = this.#contention!;
    return Math.min(this.#heartbeat, asked, pauseUntilGone(freeIn, runtime));
  }

  #sleep(delay: number): void {
    if (this.#isOver) return;
    this.#nap = this.#context.runtime.setTimer(() => this.#wake(), Math.min(Math.ceil(delay), maxTimerDelay));
  }

  /** There is news, or it is time: the next round begins, as soon as this one is over. */
  #wake(): void {
    this.#isWoken = true;
    if (!this.#nap) return;
    this.#endNap();
    this.#enqueue();
  }

  #endNap(): void {
    this.#nap?.cancel();
    this.#nap = undefined;
  }

  #endImpatience(): void {
    this.#impatience?.cancel();
    this.#impatience = undefined;
  }

  #end(): void {
    this.#isOver = true;
    this.#endNap();
    this.#endImpatience();
    this.#fencing?.cancel(new Error("it is over"));
  }

  /** From here on no vote of the round counts, whatever comes in (PROTOCOL 2.14). */
  #forgetVotes(): void {
    this.#wokenBy.clear();
    this.#claim?.giveUp();
    this.#claim = undefined;
    this.#endImpatience();
    this.#deadlines = this.#context.nodes.map(() => never);
    this.#counters = [];
  }

  /** Removes the place from every queue, and passes on what it was handed, behind all that was sent before. */
  #leave(onLeft: () => void): void {
    const { rollbacks } = this.#context;
    const placement = this.#placement;
    const { resources, ttl, settings } = this.#request;
    this.#forgetVotes();
    const leftover = { placement, resources, tokens: [`${this.#id}.${this.#count}`], ttl };
    rollbacks.remove(leftover, placement.nodes, nodeTimeoutFor(ttl, settings)).onClosed(onLeft);
  }
}
