import { type AcquireCall, fence, type LockRequest } from "../protocol/attempt.ts";
import type { Context } from "../protocol/context.ts";
import type { Attempts } from "../protocol/execution-stats.ts";
import { reportForeign } from "../protocol/foreign.ts";
import { Lease } from "../protocol/lease.ts";
import type { Grant, Timed } from "../protocol/node.ts";
import { RoundClaim } from "../protocol/question.ts";
import {
  type Contention,
  contentionIn,
  ownersIn,
  type Tally,
  toleratedFailures,
} from "../protocol/quorum.ts";
import { Round } from "../protocol/round.ts";
import type { RoundClocks } from "../protocol/round-clocks.ts";
import { isOfWaiter } from "../protocol/token.ts";
import { pauseBetween, pauseUntilGone } from "../settings/backoff.ts";
import { nodeTimeoutFor } from "../settings/settings.ts";
import { Latch } from "../time/cancellation.ts";
import { leaseDeadline, never, nodeDeadline } from "../time/lease-clock.ts";
import { maxTimerDelay, type Timer } from "../time/runtime.ts";
import { sleep } from "../time/sleep.ts";
import type { GrantHandler, GrantListener } from "./grant-listener.ts";
import type { TicketClock } from "./ticket-clock.ts";

/**
 * The interval between two rounds of a queue entry: this part of the ttl, within the bounds below, ms. A
 * quarter leaves time for a lost round before the granted keys expire; 250 ms bounds the load of short locks,
 * 1 s the delay after a crashed queue head.
 */
const heartbeatFraction = 1 / 4;
const minHeartbeat = 250;
const maxHeartbeat = 1000;
/** The number of heartbeats that an entry lives without renewal: two may be lost. */
const entryTtlInHeartbeats = 3;
/** A late grant with less than this part of the ttl left is renewed by another round before it is used. */
const minRemainingFraction = 1 / 2;

/** A call of `acquire` with its place in the order of all calls. */
export interface QueuedCall extends AcquireCall {
  /** Drawn when it began: it is kept through every round and turn (PROTOCOL 7.2). */
  ticket: number;
  /** The microsecond in which it began, by the monotonic clock; later if it demanded more than a lease has (2.5). */
  call: number;
  /** Whether the ticket is by our own clock: it is drawn again once the masters have told their time. */
  isOwnTime: boolean;
  /** Whether no queue has been seen since the ticket was drawn: if our time is behind, it goes behind those that are there. */
  isProvisional: boolean;
}

export interface EntryEvents {
  /** It does not stand in the queues any more, or not until its backoff is over: its place is free for another call. */
  onAway(): void;
  /** It has another ticket. */
  onRaised(): void;
  /**
   * Called once at the end: with the lease, or without one after all queues are left; with the error if the
   * user's backoff threw.
   */
  onFinished(lease: Lease | undefined, error?: unknown): void;
}

/**
 * One acquire that waits in the masters' queues (PROTOCOL 7).
 *
 * Problem: N independent masters each keep a FIFO queue, and a lock needs grants from a quorum of them. Polling
 * instead wastes commands and is unfair: the fastest poller wins, and a released lock stays unused until the next
 * poll. A queue on one master fails with that master. Queues on all masters without a common order deadlock: two
 * waiters each head some of the queues, and neither reaches a quorum.
 *
 * Solution:
 * - One ticket, drawn when the call began, orders the entry in the same way on every master (7.2).
 * - A refused vote enqueues in the same step (7.1), so no release is missed between the two.
 * - A release grants the key to the first waiter and pushes the token to its channel (7.4). Grants and yes answers of
 *   one round count together: a quorum of them is the lock (7.7).
 * - An entry expires unless a further round renews it. This heartbeat also finds grants whose push was lost (7.11).
 * - Votes without a quorum go back to the first in each queue, so split votes resolve (7.8).
 *
 * Each round has a fresh token (2.13). A vote counts only in the round that requested it, from the send of that round
 * on (2.14), whether it arrives as a reply or as a push.
 *
 * Written as callbacks instead of an async function: thousands may wait at a time, and suspended functions would be
 * most of their memory.
 */
export class QueuedAcquire implements GrantHandler {
  readonly #context: Context;
  readonly #grantListener: GrantListener;
  readonly #clock: TicketClock;
  readonly #request: LockRequest;
  readonly #attempts: Attempts;
  /** `undefined` after the end. */
  #call: QueuedCall | undefined;
  #events: EntryEvents | undefined;
  readonly #id: string;
  /** The proposed fencing token. */
  #proposal: number | undefined;
  /** Granted, or given up. */
  #isFinished = false;
  #roundCount = 0;
  /** The claim of the current round; `undefined` while no vote may count. */
  #claim: RoundClaim | undefined;
  /** The time of the round's first send, in lease time. */
  #sentAt = never;
  /** The current round, until it is closed. */
  #round: Round | undefined;
  /** Whether a quorum of masters has answered it. */
  #isHeard = false;
  /** Judges grants that arrive after the latest round was closed, if the masters' clocks are watched. */
  #clocks: RoundClocks | undefined;
  /** The result of the latest round that a quorum has answered. */
  #contention: Contention | undefined;
  #deadlines: number[] = [];
  #counters: (number | undefined)[] = [];
  /** The masters that have reserved, in this round, the key that blocked the entry. */
  readonly #wokenBy = new Set<number>();
  /** The smallest ticket that waits behind the votes of this round. */
  #nextTicket = Number.POSITIVE_INFINITY;
  /** Ends the storing of the fencing token; set while that runs and no other round may begin. */
  #fencing: Latch | undefined;
  #lease: Lease | undefined;
  /** Runs until the next round is due. */
  #nextRoundTimer: Timer | undefined;
  /** Runs from the first vote of a round: starts another round if the votes are split. */
  #splitVoteTimer: Timer | undefined;
  #hasYielded = false;
  /** Whether it has left the queues for a backoff. */
  #isBackingOff = false;
  #isNextRoundDue = false;
  #wasRefused = false;
  /** Whether votes that answered a round at once came too late: another round does not help. */
  #isTooSlow = false;

  constructor(
    context: Context,
    grantListener: GrantListener,
    clock: TicketClock,
    call: QueuedCall,
    events: EntryEvents,
  ) {
    this.#context = context;
    this.#grantListener = grantListener;
    this.#clock = clock;
    this.#call = call;
    this.#request = call.request;
    this.#attempts = call.attempts;
    this.#events = events;
    this.#id = context.tokens.next();
    this.#propose();
  }

  /** The result of the latest round that has any answers. */
  get contention(): Contention | undefined {
    const ofOpenRound = this.#round?.answers.some(Boolean) ? contentionIn(this.#round.answers) : undefined;
    return this.#contention ?? ofOpenRound;
  }

  /** Whether any master refused because of another owner. */
  get wasRefused(): boolean {
    return this.#wasRefused;
  }

  /** Whether it stands in the queues: not if it backs off or leaves. */
  get isStanding(): boolean {
    return !this.#isFinished && !this.#isBackingOff;
  }

  /** The smallest ticket of others that wait for any of the resources, as far as the votes show. */
  get nextTicket(): number {
    return this.#nextTicket;
  }

  /** Enters the queues and stays until the lock is granted or the acquire is given up. */
  start(): void {
    this.#grantListener.add(this.#id, this);
    this.#enqueue();
  }

  /** Tells the masters its ticket, which has changed. */
  renew(): void {
    this.#startNextRound();
  }

  /** Leaves all queues. The callback waits for the dequeueing, for one nodeTimeout at most. */
  giveUp(error?: unknown): void {
    if (this.#isFinished) return;
    this.#stop();
    const { resources, ttl } = this.#request;
    this.#grantListener.rollBackGrants(this.#id, { resources, ttl });
    // PROTOCOL 7.15: the next caller here is in the queues before this one leaves them.
    this.#events?.onAway();
    this.#dequeue(() => this.#finish(undefined, error));
  }

  /**
   * Drops the callbacks: a lease keeps a reference to this object, and through it would keep the caller's
   * promise.
   */
  #finish(lease: Lease | undefined, error?: unknown): void {
    const events = this.#events;
    this.#events = undefined;
    this.#call = undefined;
    events?.onFinished(lease, error);
  }

  /** Does what may call the user's backoff. If that throws, the call ends with its error, wherever it was called from. */
  #unlessItThrows(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.giveUp(error);
    }
  }

  onGrant(index: number, grant: Grant | Timed<Grant>): void {
    const claim = this.#claim;
    const { token, counter, nextTicket } = grant.is === "timed" ? grant.vote : grant;
    // A grant to an earlier round is found and counted by the next one (PROTOCOL 2.14).
    if (token !== claim?.token) return;
    // The votes of a round that was heard came after a wait, and count from before it.
    const hasWaited = this.#isHeard;
    if (grant.is === "grant") this.#onVote(index, counter, nextTicket, hasWaited);
    else {
      const clocks = this.#round ? this.#round.clocks : this.#clocks;
      clocks?.judge(index, grant, (judged) => {
        if (judged.is === "grant" && claim === this.#claim)
          this.#onVote(index, counter, nextTicket, hasWaited);
      });
    }
  }

  onWake(index: number, token: string): void {
    if (token !== this.#claim?.token) return;
    this.#wokenBy.add(index);
    // If the votes and the reserved keys make a quorum, the next round is likely to be granted. Otherwise it
    // is not worth its commands yet.
    const votes = this.#deadlines.filter((deadline) => deadline !== never).length;
    if (this.#wokenBy.size + votes >= this.#context.quorum) this.#startNextRound();
    else this.#startNextRoundSoon();
  }

  onListening(): void {
    this.#startNextRound();
  }

  /** PROTOCOL 2.15: enters the queues in the new database; the entries in the previous one expire. */
  onDatabaseChange(): void {
    if (this.#isFinished) return;
    this.#fencing?.end();
    this.#dequeue(() => {});
    this.#isHeard = true;
    this.#startNextRound();
  }

  /**
   * The next round begins a pause after a quorum has answered, not after the last master: one that hangs delays no
   * other (PROTOCOL 7.11). Before a quorum has answered no round begins, however long the round trip is.
   */
  #onHeard(answers: Tally): void {
    this.#isHeard = true;
    this.#contention = contentionIn(answers);
    this.#call!.isProvisional = false;
    // No other round runs while the fencing token is stored.
    if (this.#fencing) return;
    if (this.#isNextRoundDue) this.#enqueue();
    else this.#scheduleNextRound(this.#pauseBeforeNextRound(answers));
  }

  /** Every master has answered or timed out. */
  #onRoundClosed(answers: Tally): void {
    if (this.#isFinished) return;
    this.#isHeard = true;
    this.#contention = contentionIn(answers);
    if (this.#fencing) return;
    const faults = answers.filter((answer) => answer?.is === "fault").length;
    // PROTOCOL 7.12: without a reachable quorum, an entry at the head of a few queues would block all others.
    // It leaves them and keeps its ticket.
    if (faults > toleratedFailures(this.#context.nodes.length)) this.#backOff();
    else if (this.#hasVotes && !this.#hasYielded) {
      // Some votes, but no quorum: rivals hold the others. The next round releases these votes before it is
      // sent; they go to the head of each queue, which may be this entry again.
      this.#hasYielded = true;
      this.#startNextRound();
    } else this.#hasYielded = false;
  }

  #enqueue(): void {
    const { nodes, placements, runtime, clock, quorum, report } = this.#context;
    const { resources, ttl, settings } = this.#request;
    if (this.#hasVotes) this.#propose();
    this.#forgetVotes();
    this.#cancelNextRound();
    this.#isBackingOff = false;
    this.#isHeard = false;
    this.#drawAgain();
    this.#isNextRoundDue = false;
    // Each round has a token of its own (PROTOCOL 2.13).
    this.#roundCount += 1;
    const entryTtl = this.#heartbeat * entryTtlInHeartbeats + nodeTimeoutFor(ttl, settings);
    const token = `${this.#id}.${this.#roundCount}`;
    const claim = new RoundClaim(placements.current, resources, token, ttl);
    const entry = { ticket: this.#call!.ticket, ttl: Math.ceil(entryTtl) };
    claim.proposal = this.#proposal;
    this.#claim = claim;
    const round = new Round({
      nodes,
      runtime,
      clock,
      timeout: nodeTimeoutFor(ttl, settings),
      log: this.#context.log,
      question: claim.question("enqueue", entry),
      onAnswer: (index, answer, itsRound) => {
        const { answers } = itsRound;
        // A late yes does not count in a later round (PROTOCOL 2.14).
        if (answer.is === "yes" && claim === this.#claim)
          this.#onVote(index, answer.counter, answer.nextTicket ?? Number.POSITIVE_INFINITY, false);
        else if (answer.is === "no") {
          this.#wasRefused = true;
          reportForeign(this.#context, index, answer);
        } else if (answer.is === "fault") report(answer.error);
        if (itsRound !== this.#round || this.#isHeard || this.#isFinished) return;
        if (answer.is === "no") this.#observeTickets(answers);
        if (answers.filter((given) => given && given.is !== "fault").length >= quorum)
          this.#unlessItThrows(() => this.#onHeard(answers));
      },
    });
    round.ask();
    this.#sentAt = round.sentAt;
    this.#round = round;
    this.#attempts.add(round, this.#roundCount > 1);
    round.onClosed(() => {
      claim.giveUp();
      if (round !== this.#round) return;
      // Only the result is kept: a wait may be long, and a round is large.
      this.#round = undefined;
      this.#clocks = round.clocks;
      this.#unlessItThrows(() => this.#onRoundClosed(round.answers));
    });
  }

  /**
   * Observes a ticket only if a quorum of masters reports it. A ticket that fewer report may belong to no
   * waiter, and all later tickets would be drawn above it.
   */
  #observeTickets(answers: Tally): void {
    const tickets = answers.flatMap((answer) => (answer?.is === "no" ? [answer.latestTicket ?? 0] : []));
    const latest = tickets.sort((a, b) => b - a)[this.#context.quorum - 1];
    const call = this.#call;
    if (latest === undefined || !call) return;
    const wasBehind = this.#clock.observe(latest);
    if (!call.isProvisional || !(call.isOwnTime || wasBehind) || latest < call.ticket) return;
    call.ticket = latest + 1;
    this.#events?.onRaised();
    this.#isNextRoundDue = true;
  }

  /** Counts a vote of this round: the master keeps the key for at least the ttl from the send. */
  #onVote(index: number, counter: number | undefined, nextTicket: number, hasWaited: boolean): void {
    const { quorum, clock } = this.#context;
    const { ttl, settings } = this.#request;
    const claim = this.#claim!;
    const deadline = nodeDeadline(this.#sentAt, ttl, settings.driftFactor);
    this.#deadlines[index] = deadline;
    this.#counters[index] = counter;
    this.#nextTicket = Math.min(this.#nextTicket, nextTicket);
    // A vote after the quorum still extends the lease.
    if (this.#lease) this.#lease.renew(index, deadline);
    if (this.#isFinished || this.#fencing) return;
    const left = leaseDeadline(this.#deadlines, quorum) - clock.now();
    // Long after the round, the masters may have renewed the keys; only another round shows for how long.
    const isFresh = left >= ttl * minRemainingFraction || this.#round !== undefined;
    if (left > settings.minimumValidity && isFresh) {
      if (claim.proposal === undefined) this.#grant(claim);
      else void this.#fence(claim);
    } else if (left > never && isFresh && (this.#isTooSlow || !hasWaited)) {
      this.#isTooSlow = true;
      this.#unlessItThrows(() => this.#backOffFromTooLate(left));
      // PROTOCOL 2.5: the votes of another round have more time left.
    } else if (left > never) this.#startNextRound();
    // No quorum yet: another round soon finds where the other votes went.
    else this.#startNextRoundSoon();
  }

  #drawAgain(): void {
    const call = this.#call!;
    if (this.#clock.isOld) void this.#clock.read();
    if (!call.isOwnTime || this.#clock.isAlone) return;
    call.isOwnTime = false;
    call.isProvisional = false;
    call.ticket = this.#clock.ticketOf(call.call);
    this.#events?.onRaised();
  }

  /**
   * PROTOCOL 2.5: votes with less than `minimumValidity` left are a failed attempt. A call that demands more than the
   * lease had (`left`) counts as called now: with its old ticket it would come first after each backoff.
   */
  #backOffFromTooLate(left: number): void {
    this.#isBackingOff = true;
    const call = this.#call!;
    if (left > 0) {
      call.call = this.#clock.callNow();
      call.ticket = this.#clock.ticketOf(call.call);
      this.#propose();
      this.#events?.onRaised();
    }
    this.#backOff();
  }

  /** Leaves the queues for a backoff. Its place is free for the next call of this process meanwhile. */
  #backOff(): void {
    this.#cancelNextRound();
    const pause = pauseBetween(this.#request.settings, this.#context.runtime, this.#roundCount);
    this.#isBackingOff = true;
    this.#events?.onAway();
    this.#dequeue(() => this.#scheduleNextRound(pause));
  }

  #startNextRoundSoon(): void {
    const { ttl, settings } = this.#request;
    const delay = Math.min(nodeTimeoutFor(ttl, settings), this.#heartbeat);
    this.#splitVoteTimer ??= this.#context.runtime.setTimer(() => this.#startNextRound(), delay);
  }

  #grant(claim: RoundClaim, fencingToken?: number): void {
    const { placement, resources, token, ttl } = claim;
    const { driftFactor } = this.#request.settings;
    const terms = { placement, resources, token, ttl, deadlines: this.#deadlines, fencingToken, driftFactor };
    // Grants arrive outside the replies of the round.
    const { latestVotes } = this.#attempts;
    const answers = this.#deadlines.map((deadline, index) =>
      deadline === never ? latestVotes[index] : ({ is: "yes", remaining: ttl } as const),
    );
    this.#attempts.add({ answers }, true);
    const lease = new Lease(this.#context, terms);
    this.#lease = lease;
    claim.lease = lease;
    this.#stop();
    this.#finish(lease);
  }

  /** Stores the fencing token with a quorum of votes, then grants the lock. */
  async #fence(claim: RoundClaim): Promise<void> {
    const { quorum, clock, runtime } = this.#context;
    const { settings, ttl } = this.#request;
    const deadlines = this.#deadlines;
    const cancellation = new Latch();
    this.#fencing = cancellation;
    this.#cancelNextRound();
    const progress = {
      counters: () => this.#counters,
      // Later votes arrive as grants.
      all: () => this.#round?.closed ?? sleep(runtime, nodeTimeoutFor(ttl, settings), cancellation),
    };
    const token = await fence(this.#context, claim, settings, progress, deadlines, cancellation);
    this.#fencing = undefined;
    // The acquire may have been given up meanwhile.
    if (this.#isFinished) return;
    const left = leaseDeadline(deadlines, quorum) - clock.now();
    const isWanted = claim.placement.whyLeft === undefined && left > settings.minimumValidity;
    if (token !== undefined && isWanted) {
      this.#grant(claim, token);
      return;
    }
    // Otherwise another round, as soon as this one is closed.
    const isTooLate = left > never && left <= settings.minimumValidity;
    if (token !== undefined && isTooLate) this.#unlessItThrows(() => this.#backOffFromTooLate(left));
    else this.#startNextRound();
  }

  /**
   * Proposes a token in the order of the tickets, which are in microseconds as well. Nearly always it is above the
   * previous holder's token, so no second round is needed.
   */
  #propose(): void {
    this.#proposal = this.#context.proposals?.at((this.#call!.ticket + 0.5) / 1000);
  }

  get #hasVotes(): boolean {
    return this.#deadlines.some((deadline) => deadline !== never);
  }

  get #heartbeat(): number {
    const { ttl, minHeartbeat: wanted = 0 } = this.#request;
    return Math.max(wanted, Math.min(maxHeartbeat, Math.max(minHeartbeat, ttl * heartbeatFraction)));
  }

  /**
   * The pause before the next round. Grants are pushed if all masters have a subscription and all owners use
   * the queue; otherwise the masters are asked again.
   */
  #pauseBeforeNextRound(answers: Tally): number {
    const { runtime } = this.#context;
    // Some votes, and no quorum yet: those of the last masters may make it.
    if (this.#hasVotes && this.#round?.isOpen) return this.#heartbeat;
    this.#hasYielded &&= this.#hasVotes;
    const isNotified = this.#grantListener.isListening && ownersIn(answers).every(isOfWaiter);
    const interval = isNotified
      ? this.#heartbeat
      : pauseBetween(this.#request.settings, runtime, this.#roundCount);
    const { freeIn } = this.#contention!;
    const pause = Math.min(this.#heartbeat, interval, pauseUntilGone(freeIn, runtime));
    return Math.max(pause, this.#request.minHeartbeat ?? 0);
  }

  #scheduleNextRound(delay: number): void {
    if (this.#isFinished) return;
    this.#nextRoundTimer = this.#context.runtime.setTimer(
      () => this.#enqueue(),
      Math.min(Math.ceil(delay), maxTimerDelay),
    );
  }

  /** Starts the next round now, or as soon as a quorum of masters has answered the current one. */
  #startNextRound(): void {
    if (this.#isFinished || this.#fencing || this.#isBackingOff) return;
    if (this.#isHeard) this.#enqueue();
    else this.#isNextRoundDue = true;
  }

  #cancelNextRound(): void {
    this.#nextRoundTimer?.cancel();
    this.#nextRoundTimer = undefined;
  }

  #cancelSplitVoteTimer(): void {
    this.#splitVoteTimer?.cancel();
    this.#splitVoteTimer = undefined;
  }

  #stop(): void {
    this.#isFinished = true;
    this.#cancelNextRound();
    this.#cancelSplitVoteTimer();
    this.#fencing?.end();
  }

  /** From here on no vote of the round counts (PROTOCOL 2.14). */
  #forgetVotes(): void {
    this.#wokenBy.clear();
    this.#nextTicket = Number.POSITIVE_INFINITY;
    this.#claim?.giveUp();
    this.#claim = undefined;
    this.#round = undefined;
    this.#clocks = undefined;
    this.#cancelSplitVoteTimer();
    this.#deadlines = this.#context.nodes.map(() => never);
    this.#counters = [];
  }

  /** Removes the entry from every queue and releases what was granted to it, behind all earlier commands. */
  #dequeue(onDequeued: () => void): void {
    const { nodes, rollbacks } = this.#context;
    const { resources, ttl, settings } = this.#request;
    this.#forgetVotes();
    const leftover = { resources, token: `${this.#id}.${this.#roundCount}`, ttl };
    rollbacks.removal(leftover, nodes, nodeTimeoutFor(ttl, settings)).ask().onClosed(onDequeued);
  }
}
