import { setTimeout as pause } from "node:timers/promises";
import { type Child, now, type Remote, remoteOf, startProcess } from "@quorlock/simulation/processes";
import type { Recorder } from "../history/recorder.ts";
import type { Store } from "../store/store.ts";
import { leaseCount, workerCount } from "../terms.ts";
import type {
  ConductorSide,
  Detached,
  LingerRequest,
  Memory,
  TimedCall,
  WorkerSide,
} from "../worker/protocol.ts";

/** The number of the process that holds many leases; it follows those of the workers. */
const leaseHolder = workerCount;

export interface Unreachable {
  readonly worker: number;
  readonly master: number;
  readonly times: number;
  /** The message of the first report. */
  readonly why: string;
  /** The longest time for which the worker did not run shortly before, ms. */
  readonly stoodStill: number;
  readonly at: number;
}

interface Member {
  readonly child: Child;
  readonly remote: Remote<WorkerSide, ConductorSide>;
}

export interface WorkersPlan {
  readonly count: number;
  readonly seed: number;
  urlsFor(worker: number): readonly string[];
  /** The masters of the Cluster. */
  readonly cluster: readonly string[];
  /** Is given each process, so that none outlives the run. */
  readonly watch: { add(pid: number): void; remove(pid: number): void };
}

/** The worker processes, as the conductor sees them: it serves their store and records their reports. */
export class Workers implements AsyncDisposable {
  readonly failures: string[] = [];
  /** The reports of workers that do not reach a master. */
  readonly unreachable: Unreachable[] = [];
  readonly lostLeases: string[] = [];
  /** The number of those that were lost while their process did not run. */
  missedLeases = 0;
  /** The longest time for which the holder of the leases did not run while it gave them back, ms. */
  heldUp = 0;
  /** The number of rejections by each expected error code. */
  readonly refusals: Map<string, number> = new Map();
  /** For each kind of call the one that came closest to its limit, or exceeded it most. */
  readonly furthest: Map<string, TimedCall> = new Map();
  readonly #plan: WorkersPlan;
  readonly #recorder: Recorder;
  readonly #store: Store;
  readonly #members: Member[] = [];
  /** The number of starts of each worker. */
  readonly #lives: number[];
  #isLeaving = false;

  constructor(plan: WorkersPlan, recorder: Recorder, store: Store) {
    this.#plan = plan;
    this.#recorder = recorder;
    this.#store = store;
    this.#lives = Array.from({ length: plan.count }, () => 0);
  }

  async start(): Promise<void> {
    await Promise.all(this.#lives.map((_, worker) => this.#startOne(worker)));
  }

  async #startOne(worker: number): Promise<void> {
    this.#lives[worker]! += 1;
    const name = `w${worker + 1}.${this.#lives[worker]}`;
    const child = startProcess(new URL("../worker/main.ts", import.meta.url), ["--expose-gc"]);
    const { pid } = child.process;
    if (pid !== undefined) this.#plan.watch.add(pid);
    child.process.once("exit", (code, signal) => {
      if (pid !== undefined) this.#plan.watch.remove(pid);
      this.#recorder.died(name);
      if (!this.#isLeaving && signal !== "SIGKILL") this.failures.push(`${name} ended: ${signal ?? code}`);
    });
    const remote = remoteOf<WorkerSide, ConductorSide>(child, this.#side(worker));
    this.#members[worker] = { child, remote };
    const leases = worker === leaseHolder ? leaseCount : 0;
    const { cluster, seed } = this.#plan;
    await remote.start({ name, urls: this.#plan.urlsFor(worker), cluster, seed, leases });
  }

  #side(worker: number): ConductorSide {
    return {
      read: (hold) => {
        this.#recorder.reported(hold, hold.grantedAt);
        return this.#store.read(hold.key);
      },
      write: (draft, deadline) => {
        const write = this.#store.write(draft, deadline);
        this.#recorder.wrote(write);
        return write.accepted;
      },
      ended: (hold) => this.#recorder.ended(hold),
      handOn: (detached) => this.#handOn(worker, detached),
      took: (call) => {
        const before = this.furthest.get(call.name);
        if (!before || call.beyond > before.beyond) this.furthest.set(call.name, call);
      },
      unreachable: (master, times, why, stoodStill) =>
        void this.unreachable.push({ worker, master, times, why, stoodStill, at: now() }),
      leaseLost: (why) => void this.lostLeases.push(why),
      leaseMissed: () => {
        this.missedLeases += 1;
      },
      refused: (code) => void this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1),
      failed: (what) => void this.failures.push(what),
    };
  }

  /**
   * Hands a detached lock to the next worker. One that is handed to a leaving or dying worker stays unowned until its
   * TTL expires.
   */
  #handOn(from: number, detached: Detached): void {
    if (this.#isLeaving) return;
    void this.#members[(from + 1) % leaseHolder]?.remote.resume.asEvent(detached);
  }

  /** Makes the next holder of this worker keep its lock; null if it cannot. */
  linger(worker: number, request: LingerRequest): Promise<string | null> {
    return this.#members[worker]!.remote.linger(request).catch(() => null);
  }

  /** Sends a master's password to all workers. */
  password(master: number, password: string | undefined): void {
    for (const { remote } of this.#members) void remote.password.asEvent(master, password);
  }

  /** The clients of all processes connect to a master again. Whether all of them have within `limit` ms. */
  async reconnect(master: number, limit: number): Promise<boolean> {
    const reconnecting = this.#members.map(({ remote }) => remote.reconnect(master).then(() => true));
    const late = pause(limit, false);
    const all = Promise.all(reconnecting).then(() => true);
    return Promise.race([all.catch(() => false), late]);
  }

  /** Why the process that no fault concerns does not reach the master within `limit` ms; `undefined` if it does. */
  whyNotReached(master: number, limit: number): Promise<string | undefined> {
    return this.#members[leaseHolder]!.remote.whyNotReached(master, limit);
  }

  signal(worker: number, signal: "SIGSTOP" | "SIGCONT"): void {
    this.#members[worker]!.child.process.kill(signal);
  }

  /** Kills it in the middle of its work, and starts another process in its place. */
  async replace(worker: number): Promise<void> {
    await this.#members[worker]!.child.kill();
    if (!this.#isLeaving) await this.#startOne(worker);
  }

  measure(worker: number): Promise<Memory> {
    return this.#members[worker]!.remote.measure();
  }

  /**
   * Resolves when every worker has finished its current work; one that has not after `limit` ms is reported as stuck.
   */
  async leave(limit: number): Promise<void> {
    this.#isLeaving = true;
    const leaving = this.#members.map(async ({ remote }, worker) => {
      const began = now();
      const timeUp = new Promise<"late">((resolve) => {
        setTimeout(() => resolve("late"), limit).unref();
      });
      const left = await Promise.race([remote.leave(), timeUp]);
      if (left === "late") this.failures.push(`w${worker + 1} is stuck, for ${Math.round(now() - began)} ms`);
      else if (worker === leaseHolder) this.heldUp = left;
    });
    await Promise.all(leaving);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isLeaving = true;
    await Promise.all(this.#members.map(({ child }) => child.kill()));
  }
}
