import type { Context } from "../protocol/context.ts";
import type { Lease, ReleaseResult } from "../protocol/lease.ts";
import type { Contention } from "../protocol/quorum.ts";
import { release } from "../protocol/release.ts";
import { waiterOf } from "../protocol/token.ts";
import type { Settings } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import type { GrantListener, Ticket } from "./grant-listener.ts";
import { type Caller, exchange, takeOver } from "./local-hand-off.ts";
import { type OnOver, Waiter } from "./queue-entry.ts";

/** What came of waiting. Without a lease: what the masters said last, if anything, or the error of the user's backoff. */
export interface Turn {
  readonly lease?: Lease | undefined;
  readonly contention?: Contention | undefined;
  readonly error?: unknown;
}

/** One who waits. */
export interface Place extends Caller {
  readonly ticket: Ticket;
  readonly resolve: (turn: Turn) => void;
}

export interface LineEvents {
  /** Somebody else has one of them. */
  refused(resources: readonly string[]): void;
  /** Nobody stands in the line of this key any more. */
  emptied(key: string): void;
}

/** The most that are served in one turn: a waiter is overtaken by 15 of each other process at most. */
const longestTurn = 16;

/**
 * Those of one process who wait for the same resources. One of them, the first, stands in the masters' queues for
 * all. When the lock comes, all who stand here at that moment have their turn: it is passed on from one to the next
 * without being given up (`pass-on.ts`), and then released to whoever is first on the masters. So other processes wait
 * for one turn of this one, and no longer.
 */
export class LocalQueue {
  readonly #context: Context;
  readonly #grantListener: GrantListener;
  readonly #key: string;
  readonly #events: LineEvents;
  #places: Place[] = [];
  /** Who stands in the masters' queues. */
  #waiter: Waiter | undefined;
  /** The lock, while it is here. */
  #lease: Lease | undefined;
  /** Who has it, or had it last. */
  #holder: Caller | undefined;
  /** How many can still have it without the masters' queues. */
  #turnsLeft = 0;
  /** Settles when the lock has been passed on, while it is. */
  #passing: Promise<ReleaseResult> | undefined;
  /** What the masters said last to one who stood in their queues. */
  #contention: Contention | undefined;

  constructor(context: Context, grantListener: GrantListener, key: string, events: LineEvents) {
    this.#context = context;
    this.#grantListener = grantListener;
    this.#key = key;
    this.#events = events;
  }

  /** Until `ended` is cancelled. */
  join(place: Place, ended: Cancellation): void {
    // Most are alone in their line, and a list that has grown has room for many.
    if (this.#places.length === 0) this.#places = [place];
    else this.#places.push(place);
    ended.onCancel(() => this.#giveUp(place));
    this.#goOn();
  }

  /** Settles when the lock is not on its way from one to the next, for `quit`. */
  get passed(): Promise<unknown> {
    return Promise.resolve(this.#passing);
  }

  #giveUp(place: Place): void {
    if (this.#places[0] === place && this.#waiter) {
      // It is the first: its waiter has to leave the masters' queues before.
      this.#waiter.giveUp();
    } else if (this.#remove(place)) {
      place.resolve({ contention: this.#waiter ? this.#waiter.contention : this.#contention });
      this.#goOn();
    }
  }

  #remove(place: Place): boolean {
    const index = this.#places.indexOf(place);
    if (index >= 0) this.#places.splice(index, 1);
    return index >= 0;
  }

  /** Somebody has to stand in the masters' queues, unless the lock is here and will be passed on. */
  #goOn(): void {
    if (this.#waiter || this.#passing || (this.#lease && this.#turnsLeft > 0)) return;
    const first = this.#places[0];
    if (first) this.#stand(first);
    else if (!this.#lease) this.#events.emptied(this.#key);
  }

  #stand(place: Place): void {
    const { request, ticket, attempts } = place;
    const onOver: OnOver = (lease, error) => this.#stood(place, lease, error);
    this.#waiter = new Waiter(this.#context, this.#grantListener, request, ticket, attempts, onOver);
    this.#waiter.stand();
  }

  #stood(place: Place, lease: Lease | undefined, error: unknown): void {
    const { contention, wasRefused } = this.#waiter!;
    this.#waiter = undefined;
    // (A tally that was won says nothing to those who still wait.)
    this.#contention = lease ? undefined : contention;
    if (wasRefused) this.#events.refused(place.request.resources);
    this.#remove(place);
    if (lease) {
      this.#turnsLeft = Math.min(this.#places.length, longestTurn - 1);
      this.#hold(lease, place);
    }
    place.resolve({ lease, contention, error });
    this.#goOn();
  }

  #hold(lease: Lease, { request, attempts }: Caller): void {
    this.#lease = lease;
    // Not the whole place: the promise that it waited for would be kept with it.
    this.#holder = { request, attempts };
    lease.handOff = (settings) => this.#released(lease, settings);
    lease.onEnd(() => this.#ended(lease));
  }

  #ended(lease: Lease): void {
    // A release knows more: whether it stays in this process (see `#released`).
    if (lease.state === "released") return;
    // The receiver of a detached hold may count what a master still hands over to it, by an extension that found it.
    if (lease.isDetached) this.#grantListener.forget(waiterOf(lease.token));
    else this.#giveBack(lease);
    this.#gone(lease);
  }

  /** What a master still hands over to it is nobody's. */
  #giveBack({ placement, token, resources, longestTtl }: Lease): void {
    this.#grantListener.giveBack(waiterOf(token), { placement, resources, ttl: longestTtl });
  }

  #gone(lease: Lease): void {
    if (this.#lease !== lease) return;
    this.#lease = undefined;
    this.#goOn();
  }

  /** The holder gives up: what becomes of it, where it stays in this process. */
  #released(lease: Lease, settings: Settings): Promise<ReleaseResult> | undefined {
    const isHere = this.#lease === lease;
    const next = isHere && this.#turnsLeft > 0 ? this.#places[0] : undefined;
    if (next) {
      this.#passing = this.#handOff(lease, next, settings);
      return this.#passing;
    }
    this.#giveBack(lease);
    // Behind the release: on the masters this process comes after those who stand there.
    if (isHere) void Promise.resolve().then(() => this.#gone(lease));
    return undefined;
  }

  async #handOff(lease: Lease, next: Place, settings: Settings): Promise<ReleaseResult> {
    this.#turnsLeft -= 1;
    const takenOver = takeOver(lease, this.#holder!, next);
    // A token that was taken over lives on: what is handed to it may be counted by an extension that found it.
    if (!takenOver) this.#giveBack(lease);
    const { successor, result } = await (takenOver ?? exchange(lease, next, settings));
    this.#passing = undefined;
    if (successor) {
      this.#hold(successor, next);
      if (this.#remove(next)) next.resolve({ lease: successor });
      // It has given up meanwhile: on to whoever is next.
      else void release(successor, settings);
    } else this.#lease = undefined;
    this.#goOn();
    return result;
  }
}
