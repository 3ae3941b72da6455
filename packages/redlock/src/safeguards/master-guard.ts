import type { NodeError } from "../errors.ts";
import type { Answer, Guard, LockNode, Question } from "../protocol/node.ts";
import { answerOf, questionOf } from "../protocol/question.ts";
import { outside } from "../time/async-context.ts";
import { type Runtime, randomFraction, type Timer } from "../time/runtime.ts";

/**
 * The permission of a client on a master whose marker is missing or belongs to an earlier memory:
 *
 * - `nothing`, until `maxTtl` has been compared with the other masters;
 * - `quarantine`: start the quarantine;
 * - `declare new`: declare it new, after `ask whether new`;
 * - `distrust`: start the quarantine, whatever the marker says.
 */
export type Permission = (typeof permissions)[number];
const permissions = ["nothing", "quarantine", "declare new", "ask whether new", "distrust"] as const;

/** A reading of the guard state, with this permission. Default: that of any other question. */
export function stateRead(...permission: readonly Permission[]): Question {
  return questionOf({ verb: "guardState", keys: [], words: permission });
}

/** Shared by the guards of all masters of one client. */
export interface GuardCoordinator {
  readonly runtime: Runtime;
  readonly maxTtl: number;
  /** Whether `maxTtl` has been compared with the other masters. */
  readonly isAgreed: boolean;
  /** Called when the master refused because `maxTtl` was not compared. */
  compare(): unknown;
  /**
   * Restores the fencing counters of the guard's master in this epoch. Resolves to whether that succeeded.
   */
  restoreCounters(guard: MasterGuard, epoch: string, since: number): Promise<boolean>;
}

/** Two quarantines that end within this time of each other count as one, ms: a busy network may add that much to a reading. */
const endTolerance = 500;

/** A reading that fails is repeated after this, ms. It doubles with each failure, up to a tenth of `maxTtl`. */
const minRetryDelay = 100;

/** Whether this client knows the epoch of the memory that the master has now. */
type Reading =
  | { readonly is: "known" | "unknown" }
  | { readonly is: "asking"; readonly delay: number }
  /** Asked again by this timer; after one more failure, `delay` ms later. */
  | { readonly is: "failed"; readonly delay: number; readonly timer: Timer };

/** The number of epochs in one millisecond. */
const epochsPerMillisecond = 1000;

/**
 * The restart guard of one client at one master: its terms, and its knowledge of the master. Masters are not
 * identified by name: groups of a Sentinel may all have the same.
 */
export class MasterGuard implements Guard {
  readonly node: LockNode;
  readonly #coordinator: GuardCoordinator;
  readonly #isDurable: boolean;
  /** The end of the quarantine reported last, by the monotonic clock. */
  #reportedEnd = Number.NEGATIVE_INFINITY;
  /** Faults of a quarantine that was reported before. */
  readonly #alreadyReported = new WeakSet<NodeError>();
  /** The largest epoch seen on this master: an older one belongs to another memory (PROTOCOL 9.5). */
  #maxSeenEpoch = 0;
  /** Whether that is the epoch of the memory that the master has now. */
  #reading: Reading = { is: "unknown" };
  #readAt = Number.NEGATIVE_INFINITY;
  #latestEpoch = 0;
  /** The one in which it was last asked whether it is new. */
  #initialEpoch = 0;
  /** Random within a millisecond, so that two clients do not draw the same epoch. */
  #epochOffset: number | undefined;
  /** Set while it is known to lack its fencing counters: since when, by the monotonic clock. */
  #unseeded: { readonly since: number; readonly isRestoring: boolean } | undefined;
  #distrustedAt = Number.NEGATIVE_INFINITY;

  constructor(node: LockNode, coordinator: GuardCoordinator, isDurable: boolean) {
    this.node = node;
    this.#coordinator = coordinator;
    this.#isDurable = isDurable;
  }

  terms({ verb, words }: Question): string {
    const { maxTtl, runtime } = this.#coordinator;
    const usual: Permission = this.#coordinator.isAgreed ? "quarantine" : "nothing";
    const [permission = usual] = verb === "guardState" ? (words as readonly Permission[]) : [];
    const now = Math.floor(runtime.wall());
    const durable = this.#isDurable ? 1 : 0;
    const database = this.node.database ?? 0;
    return `${maxTtl},${this.#epochFor(permission)},${durable},${permissions.indexOf(permission)},${now},${database},${this.#maxSeenEpoch}`;
  }

  refused(error: NodeError): void {
    if (error.reason === "UNGUARDED") this.#coordinator.compare();
    else if (error.reason === "UNSEEDED") void this.#restoreCounters(error);
    else if (error.reason === "QUARANTINE") {
      if (!this.#isNewQuarantine(error)) this.#alreadyReported.add(error);
      this.#readNewEpoch();
    }
  }

  /**
   * The first fault of each quarantine is reported. Every vote gets that fault until the end of the quarantine; the attempts
   * contain them all, and the event reports only the change.
   */
  #isNewQuarantine({ message }: NodeError): boolean {
    const { runtime, maxTtl } = this.#coordinator;
    const now = runtime.monotonic();
    // The fault of a repaired key does not contain the time.
    const left = /for (\d+) ms more/.exec(message)?.[1];
    const end = now + (left === undefined ? maxTtl : Number(left));
    // The masters' clocks may run at another rate, and a quarantine is reported once until it is over.
    const known = this.#reportedEnd + endTolerance + maxTtl / 100;
    const isNew = left === undefined ? now >= this.#reportedEnd : end > known;
    if (isNew) this.#reportedEnd = end;
    return isNew;
  }

  extendedInQuarantine(): void {
    this.#readNewEpoch();
  }

  /** A quarantine has an epoch, which this client may have begun (PROTOCOL 9.5). */
  #readNewEpoch(): void {
    const { runtime, maxTtl } = this.#coordinator;
    // Its votes are refused or repaired for as long as it lasts: a reading now and then is enough.
    if (runtime.monotonic() - this.#readAt < maxTtl / 10) return;
    this.forgetConnection();
    this.readEpoch();
  }

  /** The server behind the connection may be another one. */
  forgetConnection(): void {
    if (this.#reading.is === "known") this.#reading = { is: "unknown" };
  }

  /** Reads the epoch of the master's memory, unless it is known. */
  readEpoch(): void {
    const before = this.#reading;
    if (before.is === "known" || before.is === "asking") return;
    if (before.is === "failed") before.timer.cancel();
    const asking: Reading = { is: "asking", delay: before.is === "failed" ? before.delay : minRetryDelay };
    this.#reading = asking;
    this.#readAt = this.#coordinator.runtime.monotonic();
    void outside(() => this.#read(stateRead())).then((answer) => {
      // It may have been heard with another answer.
      if (this.#reading !== asking) return;
      this.#reading = answer.is === "fault" ? this.#failed(asking.delay) : { is: "unknown" };
    });
  }

  /**
   * PROTOCOL 9.5: a fail-back is not noticed by a client that has not read the epoch of the failover. Neither a vote nor
   * an extension may come for long. The weak reference does not keep an unused Redlock alive.
   */
  #failed(delay: number): Reading {
    const { runtime, maxTtl } = this.#coordinator;
    const self = new WeakRef(this);
    const timer = runtime.setTimer(() => self.deref()?.readEpoch(), delay);
    timer.unref();
    return { is: "failed", delay: Math.min(2 * delay, Math.max(minRetryDelay, maxTtl / 10)), timer };
  }

  /** Whether this quarantine was reported before. */
  wasReported(error: NodeError): boolean {
    return this.#alreadyReported.has(error);
  }

  /** Forgets everything: the node leads to another database. */
  forget(): void {
    this.#maxSeenEpoch = 0;
    this.forgetConnection();
    this.#unseeded = undefined;
    this.#distrustedAt = Number.NEGATIVE_INFINITY;
  }

  /** Records the epoch in an answer to a question that was asked while the node led to `database`. */
  hear(answer: Answer, database: number | undefined): void {
    if (database !== this.node.database || answer.is !== "guard" || !answer.isCurrent) return;
    this.#maxSeenEpoch = Math.max(this.#maxSeenEpoch, answer.epoch);
    this.#reading = { is: "known" };
  }

  async #read(question: Question): Promise<Answer> {
    const { database } = this.node;
    const answer = await answerOf(this.node, question);
    this.hear(answer, database);
    return answer;
  }

  /**
   * Puts the master into quarantine for all clients, because its clock has stepped and keys may have expired
   * early (PROTOCOL 9.11). Once per half of `maxTtl` is enough: the master does not vote until it is over.
   */
  distrust(): void {
    const { runtime, maxTtl } = this.#coordinator;
    const now = runtime.monotonic();
    if (!this.#coordinator.isAgreed || now - this.#distrustedAt < maxTtl / 2) return;
    this.#distrustedAt = now;
    void this.#read(stateRead("distrust")).then((answer) => {
      if (answer.is !== "guard") this.#distrustedAt = Number.NEGATIVE_INFINITY;
    });
  }

  async #restoreCounters({ message }: NodeError): Promise<void> {
    // The floors are read after the quarantine of this epoch: during the quarantine they may still grow
    // unnoticed.
    const epoch = /UNSEEDED\D* (\d+)/.exec(message)?.[1];
    if (this.#unseeded?.isRestoring || epoch === undefined) return;
    const { since } = this.#unseeded ?? { since: this.#coordinator.runtime.monotonic() };
    const restoring = { since, isRestoring: true };
    this.#unseeded = restoring;
    const isRestored = await this.#coordinator.restoreCounters(this, epoch, since);
    // The node may lead to another database by now.
    if (this.#unseeded === restoring) this.#unseeded = isRestored ? undefined : { since, isRestoring: false };
  }

  /** A master is asked whether it is new, and declared so, in one epoch. */
  #epochFor(permission: Permission): number {
    if (permission === "declare new") return this.#initialEpoch;
    const epoch = this.#newEpoch();
    if (permission === "ask whether new") this.#initialEpoch = epoch;
    return epoch;
  }

  /**
   * A new epoch, never repeated: it identifies one loss of memory. Taken from the wall clock and above all
   * epochs seen here, so it also orders two memories at one address.
   */
  #newEpoch(): number {
    const { runtime } = this.#coordinator;
    this.#epochOffset ??= Math.floor(randomFraction(runtime) * epochsPerMillisecond);
    const byWall = Math.floor(runtime.wall()) * epochsPerMillisecond + this.#epochOffset;
    this.#latestEpoch = Math.max(byWall, this.#latestEpoch + 1, this.#maxSeenEpoch + 1);
    return this.#latestEpoch;
  }
}
