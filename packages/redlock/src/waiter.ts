import type { Wish } from "./acquire.ts";
import type { Attempts } from "./attempts.ts";
import { pauseBetween, pauseUntilGone } from "./backoff.ts";
import { contentionIn, ownersIn } from "./ballot.ts";
import { Cancellation } from "./cancellation.ts";
import { EnrolmentClaim } from "./claim.ts";
import type { Coordinator } from "./coordinator.ts";
import { fence } from "./fencing.ts";
import type { HandOvers, Listener } from "./hand-overs.ts";
import { Lease } from "./lease.ts";
import type { Answer } from "./node.ts";
import { spareOf } from "./quorum.ts";
import { Round } from "./round.ts";
import type { Timer } from "./runtime.ts";
import { nodeTimeoutFor } from "./settings.ts";
import { sleep } from "./sleep.ts";
import { isOfWaiter, newToken } from "./token.ts";
import { holdDeadline, never, nodeDeadline } from "./validity.ts";

/** The time from one enrolment to the next: this part of the ttl, within these bounds, ms. */
const heartbeatFraction = 1 / 4;
const shortestHeartbeat = 250;
const longestHeartbeat = 1000;
/** A place lasts for so many of them: two may be lost. */
const patienceInHeartbeats = 3;
/** Granted with less than this part of the ttl left, the votes are renewed before they are used. */
const leastFraction = 1 / 2;

/**
 * One stay in the queues of the resources: PROTOCOL 7. It enrols with all masters, which is a vote as well, and from
 * then on waits to be handed their keys. Enrolling again is its heartbeat, and finds what a lost message has hidden.
 *
 * Each enrolment is a round of its own, with a fresh token (14.3). A vote counts only in the round that asked for it,
 * from that round's send on (14.4), whether it comes as the reply or later, as a push.
 */
export class Waiter implements Listener {
  readonly #coordinator: Coordinator;
  readonly #handOvers: HandOvers;
  readonly #wish: Wish;
  readonly #ticket: number;
  readonly #attempts: Attempts;
  readonly #id: string;
  /** The fencing token that it proposes. */
  #proposal: number | undefined;
  /** Cancelled when it is granted, or no longer wanted. */
  readonly #settled = new Cancellation();
  #count = 0;
  /** The votes of this round; `undefined` while none may count. */
  #claim: EnrolmentClaim | undefined;
  #round: Round<Answer> | undefined;
  /** What was said in the rounds before. */
  #before: ReadonlyArray<Answer | undefined> = [];
  #deadlines: number[] = [];
  #counters: (number | undefined)[] = [];
  /** While the fencing token is stored: then no other round may begin. */
  #fencing: Promise<void> | undefined;
  #lease: Lease | undefined;
  #nap = new Cancellation();
  /** Runs from the first vote of a round on. */
  #impatience: Timer | undefined;
  #hasYielded = false;
  #isWoken = false;
  #wasRefused = false;

  constructor(
    coordinator: Coordinator,
    handOvers: HandOvers,
    wish: Wish,
    ticket: number,
    attempts: Attempts,
  ) {
    this.#coordinator = coordinator;
    this.#handOvers = handOvers;
    this.#wish = wish;
    this.#ticket = ticket;
    this.#attempts = attempts;
    this.#id = newToken(coordinator.runtime);
    this.#propose();
  }

  /** What the masters said last. */
  get answers(): ReadonlyArray<Answer | undefined> {
    const answers = this.#round?.answers ?? [];
    return answers.map((answer, index) => answer ?? this.#before[index]);
  }

  /** Whether somebody else was in the way, on any master. */
  get wasRefused(): boolean {
    return this.#wasRefused;
  }

  /** Waits until the lock is granted, or `ended` is cancelled: then it has left all queues. */
  async wait(ended: Cancellation): Promise<Lease | undefined> {
    this.#handOvers.add(this.#id, this);
    const forget = ended.onCancel(() => this.#settle());
    try {
      while (!this.#settled.reason) {
        await this.#stand();
        await this.#fencing;
      }
    } catch (error) {
      // The user's backoff has failed.
      this.#settle();
      this.#depart();
      await this.#leave();
      throw error;
    } finally {
      forget();
    }
    if (this.#lease) {
      this.#lease.onEnd(() => this.#depart());
      if (this.#lease.hasEnded) this.#depart();
      return this.#lease;
    }
    this.#depart();
    // An acquire that was given up leaves nothing behind: it waits for that, one nodeTimeout at most.
    await this.#leave();
    return undefined;
  }

  #depart(): void {
    this.#handOvers.remove(this.#id, this.#wish);
  }

  handed(index: number, token: string, counter: number | undefined): void {
    // Of this round? A key that was handed to an earlier one is found, and counted, by the next enrolment (14.4).
    if (token === this.#claim?.token) this.#hearYes(index, counter);
  }

  listening(): void {
    this.#wake();
  }

  /** One round, and the time until the next. */
  async #stand(): Promise<void> {
    const round = this.#enrol();
    await this.#settled.race(round.closed);
    if (this.#settled.reason) return;
    const { runtime, nodes } = this.#coordinator;
    const faults = round.answers.filter((answer) => answer?.vote === "none").length;
    if (faults > spareOf(nodes.length)) {
      // 14.11 Half cut off it would be the first at a few masters, and keep everybody waiting: it keeps its ticket only.
      await this.#settled.race(this.#leave());
      await this.#sleep(pauseBetween(this.#wish.settings, runtime, this.#count));
    } else if (this.#hasVotes && !this.#hasYielded) {
      // Some votes, but no quorum: what rivals hold of each other must come to one of them. The next round gives
      // these votes up, before it is sent, and to whoever is first, which may be this waiter again.
      this.#hasYielded = true;
    } else {
      this.#hasYielded = false;
      await this.#sleep(this.#untilNext(round));
    }
  }

  #enrol(): Round<Answer> {
    const { nodes, runtime, clock, report } = this.#coordinator;
    const { resources, ttl, settings } = this.#wish;
    if (this.#hasVotes) this.#propose();
    this.#before = this.answers;
    this.#forgetVotes();
    this.#isWoken = false;
    this.#count += 1;
    const patience = this.#heartbeat * patienceInHeartbeats + nodeTimeoutFor(ttl, settings);
    const token = `${this.#id}.${this.#count}`;
    const claim = new EnrolmentClaim(resources, token, ttl, this.#ticket, Math.ceil(patience));
    claim.proposal = this.#proposal;
    this.#claim = claim;
    const round: Round<Answer> = new Round<Answer>({
      nodes,
      runtime,
      clock,
      timeout: nodeTimeoutFor(ttl, settings),
      ask: (node, settle) => node.queue!.enrol(claim, settle),
      hear: (index, answer) => {
        if (answer.vote === "yes" && claim === this.#claim) this.#hearYes(index, answer.counter);
        else if (answer.vote === "no") {
          this.#wasRefused = true;
          this.#handOvers.saw(answer.latestTicket ?? 0);
        } else if (answer.vote === "none") report(answer.error);
        return false;
      },
    });
    round.onClosed(() => claim.giveUp());
    this.#round = round;
    this.#attempts.add(round, this.#count > 1);
    return round;
  }

  /** A vote of this round: from its send on the master keeps the key for the ttl, or longer. */
  #hearYes(index: number, counter: number | undefined): void {
    const { quorum, clock } = this.#coordinator;
    const { ttl, settings } = this.#wish;
    const claim = this.#claim!;
    const deadline = nodeDeadline(this.#round!.sentAt, ttl, settings.driftFactor);
    this.#deadlines[index] = deadline;
    this.#counters[index] = counter;
    // A vote behind the quorum's still prolongs the hold.
    if (this.#lease) this.#lease.renew(index, deadline);
    if (this.#settled.reason || this.#fencing) return;
    const left = holdDeadline(this.#deadlines, quorum) - clock.now();
    // Long after the round the masters have set the keys anew, but only another round tells for how long.
    const isFresh = left >= ttl * leastFraction || this.#round!.isOpen;
    if (left > settings.minimumValidity && isFresh) {
      if (claim.proposal === undefined) this.#grant(claim);
      else this.#fencing = this.#fence(claim);
    } else if (left > never) this.#wake();
    // Where the others went is found out soon, and what rivals hold of each other comes to one of them.
    else this.#impatience ??= this.#coordinator.runtime.setTimer(() => this.#wake(), this.#round!.timeout);
  }

  #grant(claim: EnrolmentClaim, fencingToken?: number): void {
    const { resources, token, ttl } = claim;
    const terms = { resources, token, ttl, deadlines: this.#deadlines, fencingToken };
    // What was handed over is no answer of the round.
    const votes = this.answers.map((answer, index) =>
      this.#deadlines[index] === never ? answer : ({ vote: "yes", remaining: ttl } as const),
    );
    this.#attempts.add(votes, true);
    this.#lease = new Lease(this.#coordinator, terms);
    claim.lease = this.#lease;
    this.#settle();
  }

  /** With all votes that it needs, it is granted as soon as its fencing token is stored. */
  async #fence(claim: EnrolmentClaim): Promise<void> {
    const { quorum, clock } = this.#coordinator;
    const { settings } = this.#wish;
    const deadlines = this.#deadlines;
    const token = await fence(this.#coordinator, claim, settings, this.#counters, deadlines, this.#settled);
    this.#fencing = undefined;
    // (It may have left meanwhile.)
    if (this.#settled.reason || claim !== this.#claim) return;
    if (token !== undefined && holdDeadline(deadlines, quorum) - clock.now() > settings.minimumValidity) {
      this.#grant(claim, token);
    } else this.#wake();
  }

  /**
   * Like its ticket by when it came, and where two came in the same millisecond, by their names: in the order in which
   * the masters serve them. So nearly always it is above the token of the one before, and no second round is needed.
   */
  #propose(): void {
    const order = Number.parseInt(this.#id.slice(0, 2), 16) / 1000;
    this.#proposal = this.#coordinator.proposals?.at(this.#ticket + order);
  }

  get #hasVotes(): boolean {
    return this.#deadlines.some((deadline) => deadline !== never);
  }

  get #heartbeat(): number {
    return Math.min(longestHeartbeat, Math.max(shortestHeartbeat, this.#wish.ttl * heartbeatFraction));
  }

  /** Hand-overs come by themselves where all take part. Foreign holders, and masters that are not heard, are asked. */
  #untilNext(round: Round<Answer>): number {
    const { runtime } = this.#coordinator;
    if (this.#isWoken) return 0;
    const isTold = this.#handOvers.isListening && ownersIn(round.answers).every(isOfWaiter);
    const asked = isTold ? this.#heartbeat : pauseBetween(this.#wish.settings, runtime, this.#count);
    const { freeIn } = contentionIn(round.answers);
    return Math.min(this.#heartbeat, asked, pauseUntilGone(freeIn, runtime));
  }

  async #sleep(delay: number): Promise<void> {
    this.#nap = new Cancellation();
    await sleep(this.#coordinator.runtime, delay, this.#settled.reason ? this.#settled : this.#nap);
  }

  #wake(): void {
    this.#isWoken = true;
    this.#nap.cancel(new Error("there is news"));
  }

  #endImpatience(): void {
    this.#impatience?.cancel();
    this.#impatience = undefined;
  }

  #settle(): void {
    this.#endImpatience();
    this.#settled.cancel(new Error("it is over"));
    this.#wake();
  }

  /** From here on no vote of the round counts, whatever comes in (14.4). */
  #forgetVotes(): void {
    this.#claim?.giveUp();
    this.#claim = undefined;
    this.#endImpatience();
    this.#deadlines = this.#coordinator.nodes.map(() => never);
    this.#counters = [];
  }

  /** Removes the place from every queue, and passes on what it was handed, behind all that was sent before. */
  #leave(): Promise<void> {
    const { nodes, cleanUps } = this.#coordinator;
    const { resources, ttl, settings } = this.#wish;
    this.#forgetVotes();
    const leftover = { resources, tokens: [`${this.#id}.${this.#count}`], ttl };
    return cleanUps.remove(leftover, nodes, nodeTimeoutFor(ttl, settings)).closed;
  }
}
