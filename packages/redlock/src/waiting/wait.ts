import type { Ballot, Told } from "../protocol/ballot.ts";
import type { Context } from "../protocol/context.ts";
import type { Lease } from "../protocol/lease.ts";
import type { Answer, Grant, Timed } from "../protocol/node.ts";
import { type Contention, contentionIn, type Tally, toleratedFailures } from "../protocol/quorum.ts";
import { pauseBetween } from "../settings/backoff.ts";
import { Latch } from "../time/cancellation.ts";
import { never } from "../time/lease-clock.ts";
import type { GrantHandler, GrantListener } from "./grant-listener.ts";
import { entryTtlOf, heartbeatOf, pauseAfter, splitTimeOf, wholeDelay } from "./pauses.ts";
import { Place } from "./place.ts";
import type { Caller, Surroundings, WaitResult } from "./surroundings.ts";
import { atOnce, type WaitState, wheneverWoken } from "./wait-state.ts";

/** A late grant with less than this part of the ttl left is renewed by another round before it is used. */
const minRemainingFraction = 1 / 2;

/** The news of a waiting call for its line. */
export interface WaitEvents {
  /** One does not stand in the queues any more, or not until its backoff is over: its place there is free for another call. */
  onAway(): void;
  /** The call has another ticket. */
  onRaised(wait: Wait): void;
  /** Called once at the end: with the lease, or without one after all queues are left; with the error if the backoff threw. */
  onFinished(wait: Wait, lease: Lease | undefined, error?: unknown): void;
}

/**
 * A call that waits: behind others of its line, and then its ballot in the masters' queues (PROTOCOL 7).
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
 * Written as callbacks instead of an async function: thousands may wait at a time, and suspended functions would be
 * most of their memory.
 */
export class Wait extends Place implements GrantHandler, Told {
  readonly ballot: Ballot;
  /** `undefined` after the end: a lease keeps a reference to this object. */
  caller: Caller | undefined;
  readonly #context: Context;
  readonly #grantListener: GrantListener;
  readonly #line: WaitEvents;
  #state: WaitState = { is: "behind" };
  /** The result of the latest round that a quorum has answered. */
  #contention: Contention | undefined;
  /** The masters that have reserved, in this round, the key that blocked the entry. */
  #wokenBy: readonly number[] = [];
  /** Whether votes of the round before were given up for want of a quorum. */
  #hasYielded = false;
  /** Whether votes that answered a round at once came too late: another round does not help. */
  #isTooSlow = false;

  /** `call`: the microsecond in which it began. */
  constructor(room: Surroundings, line: WaitEvents, call: number, ballot: Ballot, caller: Caller) {
    super(room.clock, call);
    this.#context = room.context;
    this.#grantListener = room.grantListener;
    this.#line = line;
    this.ballot = ballot;
    this.caller = caller;
  }

  /** The result of the latest round that has any answers. */
  get contention(): Contention | undefined {
    return this.#contention ?? this.ballot.contention;
  }

  /** Whether it has been in the queues. */
  get hasEntered(): boolean {
    return this.#state.is !== "behind";
  }

  /** Whether it stands in the queues: not if it backs off or leaves. */
  get isStanding(): boolean {
    return this.hasEntered && this.#state.is !== "over" && this.#state.is !== "away";
  }

  /** Enters the queues and stays until the lock is granted or the acquire is given up. */
  enter(): void {
    this.#propose();
    this.#grantListener.add(this.ballot.id, this);
    this.#ask();
  }

  /** Leaves all queues. The callback waits for the dequeueing, for one nodeTimeout at most. */
  giveUp(error?: unknown): void {
    if (this.#state.is === "over") return;
    this.#become({ is: "over" });
    const { resources, ttl } = this.ballot.request;
    this.#grantListener.rollBackGrants(this.ballot.id, { resources, ttl });
    // PROTOCOL 7.15: the next caller here is in the queues before this one leaves them.
    this.#line.onAway();
    this.#leaveQueues(() => this.#line.onFinished(this, undefined, error));
  }

  settle(result: WaitResult): void {
    this.caller?.resolve(result);
    this.caller = undefined;
  }

  /** Does what may call the user's backoff. If that throws, the call ends with its error, wherever it was called from. */
  #unlessItThrows(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.giveUp(error);
    }
  }

  #become<Next extends WaitState>(next: Next): Next {
    const state = this.#state;
    if (state.is === "heard" || state.is === "away") state.timer?.cancel();
    if (state.is === "fencing") state.ended.end();
    this.#state = next;
    return next;
  }

  onGrant(index: number, grant: Grant | Timed<Grant>): void {
    // The votes of a round that was heard came after a wait, and count from before it.
    const hasWaited = this.#state.is === "heard";
    this.ballot.hear(index, grant, () => this.#decide(hasWaited));
  }

  onWake(index: number, token: string): void {
    if (token !== this.ballot.token || !this.ballot.isPlaced) return;
    if (!this.#wokenBy.includes(index)) this.#wokenBy = [...this.#wokenBy, index];
    this.#askForRest();
  }

  /** PROTOCOL 2.15: enters the queues in the new database; the entries in the previous one expire. */
  onDatabaseChange(): void {
    const { is } = this.#state;
    if (is === "away" || is === "over") return;
    this.#leaveQueues(() => {});
    if (this.#state.is === "fencing") this.#state.ended.end();
    else this.#ask();
  }

  onVote(): void {
    this.#decide(false);
  }

  onAnswer(answer: Answer, answers: Tally): void {
    const { is } = this.#state;
    if (is !== "asking" && is !== "fencing") return;
    if (answer.is === "no" && this.observe(answers)) {
      this.#line.onRaised(this);
      this.askAgain();
    }
    if (this.ballot.isHeard) this.#unlessItThrows(() => this.#onHeard(answers));
  }

  onClosed(answers: Tally): void {
    if (this.#state.is === "over") return;
    this.#contention = contentionIn(answers);
    if (this.#state.is === "fencing") return;
    const faults = answers.filter((answer) => answer?.is === "fault").length;
    // PROTOCOL 7.12: without a reachable quorum, an entry at the head of a few queues would block all others.
    // It leaves them and keeps its ticket.
    if (faults > toleratedFailures(this.#context.nodes.length)) this.#unlessItThrows(() => this.#backOff());
    else if (this.ballot.hasVotes && !this.#hasYielded) {
      // Some votes, but no quorum: rivals hold the others. The next round releases these votes before it is
      // sent; they go to the head of each queue, which may be this entry again.
      this.#hasYielded = true;
      this.askAgain();
    } else this.#hasYielded = false;
  }

  /**
   * The next round begins a pause after a quorum has answered, not after the last master: one that hangs delays no
   * other (PROTOCOL 7.11). Before a quorum has answered no round begins, however long the round trip is.
   */
  #onHeard(answers: Tally): void {
    this.#contention = contentionIn(answers);
    this.isProvisional = false;
    // No other round runs while the fencing token is stored.
    if (this.#state.is !== "asking") return;
    const { again } = this.#state;
    const left = again - this.#context.runtime.monotonic();
    if (left <= 0) this.#ask();
    else this.#scheduleNextRound(Math.min(left, this.#pauseAfter(answers)));
  }

  #ask(): void {
    if (this.ballot.hasVotes) this.#propose();
    this.#wokenBy = [];
    this.#become({ is: "asking", again: wheneverWoken });
    if (this.drawAgain()) this.#line.onRaised(this);
    // That may have asked for one more round, which is not needed: this one has the new ticket.
    this.#become({ is: "asking", again: wheneverWoken });
    this.ballot.ask({ ticket: this.ticket, ttl: entryTtlOf(this.ballot.request) }, this);
  }

  /** A vote was counted. */
  #decide(hasWaited: boolean): void {
    const { is } = this.#state;
    if (is !== "asking" && is !== "heard") return;
    const { left, isOpen, request } = this.ballot;
    const { ttl, settings } = request;
    // Long after the round, the masters may have renewed the keys; only another round shows for how long.
    const isFresh = left >= ttl * minRemainingFraction || isOpen;
    if (left > settings.minimumValidity && isFresh) {
      if (this.ballot.proposal === undefined) this.#grant();
      else void this.#fence();
    } else if (left > never && isFresh && (this.#isTooSlow || !hasWaited)) {
      this.#isTooSlow = true;
      this.#unlessItThrows(() => this.#backOffFromTooLate(left));
    } else if (left > never) {
      // PROTOCOL 2.5: the votes of another round have more time left.
      this.askAgain();
    } else this.#askForRest();
  }

  /** If votes and reserved keys, in any order, make a quorum, the next round is likely to be granted; else it is too early. */
  #askForRest(): void {
    if (this.#wokenBy.length + this.ballot.voteCount >= this.#context.quorum) this.askAgain();
    else this.#askSoon();
  }

  /**
   * PROTOCOL 2.5: votes with no more than `minimumValidity` left are a failed attempt. A call that demands more than the
   * lease had (`left`) counts as called now: with its old ticket it would come first after each backoff.
   */
  #backOffFromTooLate(left: number): void {
    this.#become({ is: "away", timer: undefined });
    if (left > 0) {
      this.callAgain();
      this.#propose();
      this.#line.onRaised(this);
    }
    this.#backOff();
  }

  /** Leaves the queues for a backoff. Its place is free for the next call of this process meanwhile. */
  #backOff(): void {
    const { request, rounds } = this.ballot;
    const { runtime } = this.#context;
    const pause = pauseBetween(request.settings, runtime, rounds);
    const away = this.#become<WaitState & { is: "away" }>({ is: "away", timer: undefined });
    this.#line.onAway();
    this.#leaveQueues(() => {
      if (this.#state === away) away.timer = runtime.setTimer(() => this.#ask(), wholeDelay(pause));
    });
  }

  #grant(fencingToken?: number): void {
    const lease = this.ballot.grant(fencingToken);
    this.#become({ is: "over" });
    this.#line.onFinished(this, lease);
  }

  /** Stores the fencing token with a quorum of votes, then grants the lock. */
  async #fence(): Promise<void> {
    const { minimumValidity } = this.ballot.request.settings;
    const fencing = this.#become({ is: "fencing", ended: new Latch() });
    const token = await this.ballot.fence(fencing.ended);
    // The acquire may have been given up meanwhile.
    if (this.#state !== fencing) return;
    const { left, isPlaced, isHeard } = this.ballot;
    if (token !== undefined && isPlaced && left > minimumValidity) this.#grant(token);
    else if (token !== undefined && left > never && left <= minimumValidity)
      this.#unlessItThrows(() => this.#backOffFromTooLate(left));
    // Otherwise another round, as soon as a quorum has answered this one.
    else if (isHeard) this.#ask();
    else this.#become({ is: "asking", again: atOnce });
  }

  /**
   * Proposes a token in the order of the tickets, which are in microseconds as well. Nearly always it is above the
   * previous holder's token, so no second round is needed.
   */
  #propose(): void {
    this.ballot.proposal = this.#context.proposals?.at((this.ticket + 0.5) / 1000);
  }

  #pauseAfter(answers: Tally): number {
    const { hasVotes, isAwaited, request, rounds } = this.ballot;
    // Some votes, and no quorum yet: those of the last masters may make it.
    if (hasVotes && isAwaited) return heartbeatOf(request);
    this.#hasYielded &&= hasVotes;
    return pauseAfter(answers, request, rounds, this.#grantListener.isListening, this.#context.runtime);
  }

  #scheduleNextRound(delay: number): void {
    const { runtime } = this.#context;
    const timer = runtime.setTimer(() => this.#ask(), wholeDelay(delay));
    this.#become({ is: "heard", again: runtime.monotonic() + delay, timer });
  }

  /** Begins the next round now, or as soon as a quorum of masters has answered the current one. */
  askAgain(): void {
    if (this.#state.is === "asking") this.#state.again = atOnce;
    else if (this.#state.is === "heard") this.#ask();
  }

  /** Begins it within the time that votes of other masters may take. */
  #askSoon(): void {
    const delay = splitTimeOf(this.ballot.request);
    const again = this.#context.runtime.monotonic() + delay;
    if (this.#state.is === "asking") this.#state.again = Math.min(this.#state.again, again);
    else if (this.#state.is === "heard" && again < this.#state.again) this.#scheduleNextRound(delay);
  }

  /** Removes the entry from every queue and releases what was granted to it, behind all earlier commands. */
  #leaveQueues(onLeft: () => void): void {
    // PROTOCOL 1.10: not for as long as a busy master takes.
    void this.ballot.withdraw().decided.then(onLeft);
  }
}
