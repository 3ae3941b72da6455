import type { Coordinator } from "./coordinator.ts";
import type { Fault, LockNode, ReleaseAnswer } from "./node.ts";
import { Round } from "./round.ts";
import type { Runtime, Timer } from "./runtime.ts";

/** Keys that are to go: those of a failed attempt, or of a lock that is released. */
export interface Leftover {
  readonly resources: readonly string[];
  readonly tokens: readonly string[];
  /** What the keys were last set for, ms: after that a master has removed them itself. */
  readonly ttl: number;
}

interface Debt {
  readonly leftover: Leftover;
  readonly until: number;
}

/** Where a master cannot be reached it is tried again when it is back, and this often, ms. */
const retryInterval = 1000;
/** So many are remembered for one master; of more, the oldest are left to expire. */
const mostDebts = 10_000;

/**
 * Takes keys away again (PROTOCOL 2.6, 5), and remembers what could not be taken away: a master that was cut
 * off is cleaned when it is back, for as long as the keys could still live.
 */
export class CleanUps {
  readonly #runtime: Runtime;
  readonly #debts = new Map<LockNode, Debt[]>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(runtime: Runtime, nodes: readonly LockNode[]) {
    this.#runtime = runtime;
    for (const node of nodes) node.onReady(() => this.#settle(node));
  }

  /** How many clean-ups wait for their master. */
  get owed(): number {
    let owed = 0;
    for (const debts of this.#debts.values()) owed += debts.length;
    return owed;
  }

  /**
   * Sends the deletion to each of `nodes` now, each behind what was sent to it before (FIFO). `isDecided` sees
   * the answers as they come; those of masters that are not asked stay `undefined`.
   */
  remove(
    coordinator: Coordinator,
    leftover: Leftover,
    nodes: readonly LockNode[],
    timeout: number,
    isDecided: (answers: ReadonlyArray<ReleaseAnswer | undefined>) => boolean = () => false,
  ): Round<ReleaseAnswer> {
    const round: Round<ReleaseAnswer> = new Round<ReleaseAnswer>({
      nodes,
      runtime: coordinator.runtime,
      clock: coordinator.clock,
      timeout,
      ask: (node) => node.release(leftover.resources, leftover.tokens),
      hear: (index, answer) => {
        if (answer.vote === "none") {
          coordinator.report(answer.error);
          const until = this.#runtime.monotonic() + leftover.ttl;
          this.#owe(nodes[index]!, { leftover, until }, answer);
        }
        return isDecided(round.answers);
      },
    });
    return round;
  }

  /** Forgets everything that is owed, now and later: the keys expire by themselves. */
  stop(): void {
    this.#stopped = true;
    this.#debts.clear();
    this.#timer?.cancel();
  }

  #owe(node: LockNode, debt: Debt, fault: Fault): void {
    // Only slow: the command is on its way, and its real answer is still heard.
    if (this.#stopped || fault.error.reason === "TIMEOUT") return;
    const debts = this.#debts.get(node) ?? [];
    this.#debts.set(node, debts);
    debts.push(debt);
    if (debts.length > mostDebts) debts.shift();
    this.#timer ??= this.#retryLater();
  }

  #settle(node: LockNode): void {
    const debts = this.#debts.get(node);
    if (!debts) return;
    this.#debts.delete(node);
    const now = this.#runtime.monotonic();
    for (const debt of debts) {
      if (debt.until <= now) continue;
      void node.release(debt.leftover.resources, debt.leftover.tokens).then((answer) => {
        if (answer.vote === "none") this.#owe(node, debt, answer);
      });
    }
  }

  #retryLater(): Timer {
    const timer = this.#runtime.setTimer(() => {
      this.#timer = undefined;
      for (const node of [...this.#debts.keys()]) this.#settle(node);
    }, retryInterval);
    timer.unref();
    return timer;
  }
}
