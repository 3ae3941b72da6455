import type { NodeError } from "../errors.ts";
import type { Fault, Guard, GuardState, LockNode } from "../protocol/node.ts";
import { type Runtime, randomFraction } from "../time/runtime.ts";
import { QuarantineNews } from "./quarantine-news.ts";

/**
 * What a client may do to a master whose marker is missing, or is not of its present memory:
 *
 * - `nothing`, as long as it has not compared `maxTtl` with the others;
 * - begin the `quarantine`;
 * - `declare new` what it has asked before whether it is (`ask whether new`);
 * - `distrust` it, whatever the marker says: begin the quarantine.
 */
export type Right = "nothing" | "quarantine" | "declare new" | "ask whether new" | "distrust";
const rights: readonly Right[] = ["nothing", "quarantine", "declare new", "ask whether new", "distrust"];

/** What the guards of all masters of one client share. */
export interface Guarded {
  readonly runtime: Runtime;
  readonly maxTtl: number;
  /** Whether `maxTtl` has been compared. */
  isAgreed(): boolean;
  /** The master has refused for want of that. */
  compare(): void;
  /** The master of `guard` waits for its fencing counters, in this epoch. Resolves to whether it has got them. */
  seed(guard: MasterGuard, epoch: string, since: number): Promise<boolean>;
}

/** Epochs of one millisecond. */
const epochsPerMillisecond = 1000;

/**
 * The restart guard of one client at one master: what it says there, and what it remembers of it. No master is found by
 * its name: groups of a Sentinel may all have the same.
 */
export class MasterGuard implements Guard {
  readonly node: LockNode;
  readonly #guarded: Guarded;
  readonly #isDurable: boolean;
  readonly #news: QuarantineNews;
  /** Faults that tell of a quarantine that has been told. */
  readonly #old = new WeakSet<NodeError>();
  /** The largest epoch that was seen here: an older one is the memory of another process (PROTOCOL 9.5). */
  #seen = 0;
  #latestEpoch = 0;
  /** Of a millisecond; drawn at random, so that two clients do not come to the same epoch. */
  #part: number | undefined;
  /** Since when it is known to wait for its fencing counters, by the monotonic clock. */
  #unseededSince: number | undefined;
  #isSeeding = false;
  #distrustedAt = Number.NEGATIVE_INFINITY;

  constructor(node: LockNode, guarded: Guarded, isDurable: boolean) {
    this.node = node;
    this.#guarded = guarded;
    this.#isDurable = isDurable;
    this.#news = new QuarantineNews(guarded.runtime, guarded.maxTtl);
  }

  get terms(): string {
    return this.#termsFor(this.#guarded.isAgreed() ? "quarantine" : "nothing", this.#newEpoch());
  }

  refused(error: NodeError): void {
    if (error.reason === "UNGUARDED") this.#guarded.compare();
    else if (error.reason === "UNSEEDED") void this.#seed(error);
    else if (error.reason === "QUARANTINE" && !this.#news.isNews(error)) this.#old.add(error);
  }

  /** Whether the user has been told of this quarantine. */
  hasTold(error: NodeError): boolean {
    return this.#old.has(error);
  }

  /** To ask whether the master is new, and to declare it so: both in one epoch. */
  renewing(): { readonly ask: Guard; readonly declare: Guard } {
    const epoch = this.#newEpoch();
    return { ask: this.#with("ask whether new", epoch), declare: this.#with("declare new", epoch) };
  }

  #with(right: Right, epoch: number): Guard {
    const termsFor = (): string => this.#termsFor(right, epoch);
    return {
      get terms() {
        return termsFor();
      },
      refused: (error) => this.refused(error),
    };
  }

  /** It is about another database from now on. */
  forget(): void {
    this.#seen = 0;
    this.#unseededSince = undefined;
  }

  /** Asks what the master knows; what it says of its memory is kept in mind. */
  ask(guard: Guard, settle: (answer: GuardState | Fault) => void): void {
    const database = this.node.database;
    this.node.guarded!.state(guard, (answer) => {
      const isOfHere = database === this.node.database;
      if (isOfHere && isFindings(answer) && answer.isCurrent) this.#seen = Math.max(this.#seen, answer.epoch);
      settle(answer);
    });
  }

  /**
   * Its keys may have expired early: its clock has stepped. It is put into quarantine, for all clients (PROTOCOL 9.11). Once for each half
   * of `maxTtl` is enough: until it is over the master votes for nobody.
   */
  distrust(): void {
    const { runtime, maxTtl } = this.#guarded;
    const now = runtime.monotonic();
    if (!this.#guarded.isAgreed() || now - this.#distrustedAt < maxTtl / 2) return;
    this.#distrustedAt = now;
    this.ask(this.#with("distrust", this.#newEpoch()), (answer) => {
      if (!isFindings(answer)) this.#distrustedAt = Number.NEGATIVE_INFINITY;
    });
  }

  async #seed({ message }: NodeError): Promise<void> {
    // The floors are asked for after the quarantine of this epoch: while it lasts they may still rise unseen.
    const epoch = /UNSEEDED:? (\d+)/.exec(message)?.[1];
    if (this.#isSeeding || epoch === undefined) return;
    this.#isSeeding = true;
    this.#unseededSince ??= this.#guarded.runtime.monotonic();
    if (await this.#guarded.seed(this, epoch, this.#unseededSince)) this.#unseededSince = undefined;
    this.#isSeeding = false;
  }

  #termsFor(right: Right, epoch: number): string {
    const { maxTtl, runtime } = this.#guarded;
    const now = Math.floor(runtime.wall());
    const durable = this.#isDurable ? 1 : 0;
    const database = this.node.database ?? 0;
    return `${maxTtl},${epoch},${durable},${rights.indexOf(right)},${now},${database},${this.#seen}`;
  }

  /**
   * Never the same again: it names one loss of memory, and must not be taken for the name of another one. By the wall
   * clock, and above what was seen here, so that it also tells which of two memories of one address is the older.
   */
  #newEpoch(): number {
    const { runtime } = this.#guarded;
    this.#part ??= Math.floor(randomFraction(runtime) * epochsPerMillisecond);
    const byWall = Math.floor(runtime.wall()) * epochsPerMillisecond + this.#part;
    this.#latestEpoch = Math.max(byWall, this.#latestEpoch + 1, this.#seen + 1);
    return this.#latestEpoch;
  }
}

export function isFindings(answer: GuardState | Fault | undefined): answer is GuardState {
  return answer !== undefined && "maxTtl" in answer;
}
