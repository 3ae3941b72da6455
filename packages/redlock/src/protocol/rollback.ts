import type { NodeError } from "../errors.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import type { Runtime, Timer } from "../time/runtime.ts";
import type { Fault, LockNode, ReleaseAnswer } from "./node.ts";
import type { Placement } from "./placement.ts";
import { Round } from "./round.ts";

/** Keys that are to go: those of a failed attempt, or of a lock that is released. */
export interface Leftover {
  readonly placement: Placement;
  readonly resources: readonly string[];
  readonly tokens: readonly string[];
  /** What the keys were last set for, ms: after that a master has removed them itself. */
  readonly ttl: number;
}

interface Debt {
  readonly leftover: Leftover;
  /** By the monotonic clock, ms. */
  readonly until: number;
}

/** Where a master cannot be reached it is tried again when it is back, and this often, ms. */
const retryInterval = 1000;
/**
 * So many are remembered for one master, some 50 bytes each: what a process gives back in seconds while a master hangs.
 * Of more, the oldest are left to expire.
 */
const mostDebts = 100_000;

/**
 * Takes keys away again (PROTOCOL 2.6, 5), and remembers what could not be taken away: a master that was cut
 * off is cleaned when it is back, for as long as the keys could still live.
 */
export class Rollbacks {
  readonly #runtime: Runtime;
  readonly #clock: LeaseClock;
  readonly #report: (error: NodeError) => void;
  readonly #most: number;
  readonly #open = new Set<Round<ReleaseAnswer>>();
  readonly #debts = new Map<LockNode, Debt[]>();
  /** How to stop listening for the masters that something is owed to. */
  readonly #unsubscribe = new Map<LockNode, () => void>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(
    runtime: Runtime,
    clock: LeaseClock,
    report: (error: NodeError) => void,
    most: number = mostDebts,
  ) {
    this.#most = most;
    this.#runtime = runtime;
    this.#clock = clock;
    this.#report = report;
  }

  /** How many clean-ups wait for their master. */
  get owed(): number {
    let owed = 0;
    for (const debts of this.#debts.values()) owed += debts.length;
    return owed;
  }

  /** Settles when every deletion that was sent has been answered, or had its time. */
  get answered(): Promise<void> {
    return Promise.all([...this.#open].map((round) => round.closed)).then(() => {});
  }

  /**
   * Sends the deletion to each of `nodes` now, each behind what was sent to it before (FIFO). `isDecided` sees
   * the answers as they come; those of masters that are not asked stay `undefined`.
   */
  remove(
    leftover: Leftover,
    nodes: readonly LockNode[],
    timeout: number,
    isDecided: (answers: ReadonlyArray<ReleaseAnswer | undefined>) => boolean = () => false,
  ): Round<ReleaseAnswer> {
    const round: Round<ReleaseAnswer> = new Round<ReleaseAnswer>({
      nodes,
      runtime: this.#runtime,
      clock: this.#clock,
      timeout,
      longest: leftover.ttl,
      ask: {
        kind: "release",
        keys: leftover.resources,
        words: leftover.tokens,
        ttl: 0,
        claim: undefined,
      },
      hear: (index, answer) => {
        // (Where a client was switched the way to the keys ends soon, and they expire.)
        if (answer.vote === "none" && leftover.placement.whyLeft === undefined) {
          this.#report(answer.error);
          const until = this.#runtime.monotonic() + leftover.ttl;
          this.#owe(nodes[index]!, { leftover, until }, answer);
        }
        return isDecided(round.answers);
      },
    });
    this.#open.add(round);
    round.onClosed(() => this.#open.delete(round));
    return round;
  }

  /** Forgets everything that is owed, now and later: the keys expire by themselves. */
  stop(): void {
    this.#stopped = true;
    this.#debts.clear();
    for (const unsubscribe of this.#unsubscribe.values()) unsubscribe();
    this.#unsubscribe.clear();
    this.#timer?.cancel();
  }

  #owe(node: LockNode, debt: Debt, fault: Fault): void {
    // Only slow: the command is on its way, and its real answer is still heard.
    const { reason } = fault.error;
    if (this.#stopped || reason === "TIMEOUT" || (reason === "ABANDONED" && fault.sent)) return;
    const debts = this.#debts.get(node) ?? [];
    this.#debts.set(node, debts);
    debts.push(debt);
    if (debts.length > this.#most) this.#debts.set(node, this.#latest(debts));
    if (!this.#unsubscribe.has(node)) {
      const unsubscribe = node.onReady(() => this.#settle(node));
      this.#unsubscribe.set(node, unsubscribe);
    }
    this.#timer ??= this.#retryLater();
  }

  /** Without those whose keys have expired; if there are still too many, the latest half. */
  #latest(debts: Debt[]): Debt[] {
    const now = this.#runtime.monotonic();
    const standing = debts.filter(({ until }) => until > now);
    return standing.length > this.#most ? standing.slice(-this.#most / 2) : standing;
  }

  /** Pays one debt to see whether the master is there, then the rest at once. */
  #settle(node: LockNode): void {
    const debts = this.#debts.get(node) ?? [];
    this.#debts.delete(node);
    const now = this.#runtime.monotonic();
    const [first, ...rest] = debts.filter(
      ({ until, leftover }) => until > now && leftover.placement.whyLeft === undefined,
    );
    if (!first) {
      this.#unsubscribe.get(node)?.();
      this.#unsubscribe.delete(node);
      return;
    }
    this.#pay(node, first, (isPaid) => {
      if (isPaid) for (const debt of rest) this.#pay(node, debt);
      else if (!this.#stopped) {
        this.#debts.set(node, this.#latest([...rest, ...(this.#debts.get(node) ?? [])]));
      }
    });
  }

  #pay(node: LockNode, debt: Debt, then?: (isPaid: boolean) => void): void {
    node.release(debt.leftover.resources, debt.leftover.tokens, (answer) => {
      if (answer.vote === "none") this.#owe(node, debt, answer);
      then?.(answer.vote !== "none");
    });
  }

  #retryLater(): Timer {
    const timer = this.#runtime.setTimer(() => {
      // (What fails at once is owed again in here, and must not begin a timer of its own.)
      for (const node of [...this.#unsubscribe.keys()]) this.#settle(node);
      this.#timer = this.#unsubscribe.size > 0 ? this.#retryLater() : undefined;
    }, retryInterval);
    timer.unref();
    return timer;
  }
}
