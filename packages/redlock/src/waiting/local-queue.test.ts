import { expect, test } from "vitest";
import type { LockNode, Operation, OperationKind } from "../protocol/node.ts";
import { Redlock } from "../redlock.ts";
import { maxTimerDelay } from "../time/runtime.ts";
import { refusal, VirtualMachine, VirtualTime } from "../virtual-time.test.ts";

// PROTOCOL 7.15, 7.17.

/** A master with a queue, which answers as the test says. */
class Master implements LockNode {
  readonly name = "master";
  readonly client = {};
  readonly queue = { listen: () => Promise.resolve(), isListening: true };
  readonly kinds: OperationKind[] = [];
  /** The answer to a queue entry. */
  entry: "yes" | "no" = "yes";
  transferred = (): void => {};
  isMute = false;
  /** The last request before it was closed. */
  closedAfter: OperationKind | undefined;
  readonly #machine: VirtualMachine;

  constructor(machine: VirtualMachine) {
    this.#machine = machine;
  }

  ask({ kind, ttl, onAnswer }: Operation, index: number): void {
    this.kinds.push(kind);
    if (this.isMute) return;
    // A token transfer hangs until the test answers it.
    if (kind === "transfer") this.transferred = () => onAnswer(index, { vote: "yes", remaining: ttl });
    else
      this.#machine.receive(() => {
        if (kind === "time") onAnswer(index, { time: this.#machine.wall() });
        else if (kind === "release") onAnswer(index, { vote: "yes" });
        else if (kind === "enqueue" && this.entry === "yes") onAnswer(index, { vote: "yes", remaining: ttl });
        else onAnswer(index, refusal("other.1", 100_000));
      }, 1);
  }

  count(kind: OperationKind): number {
    return this.kinds.filter((other) => other === kind).length;
  }

  onReady(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    this.closedAfter = this.kinds.at(-1);
    return Promise.resolve();
  }

  disconnect(): void {}
}

const [ttl, shortTtl] = [10_000, 1000];
/** The time that the second call allows the transfer, ms. */
const transferTime = 8000;

/**
 * A lease is being transferred to `second`, and the master does not answer. `third`, which called after the grant and
 * waits at the master, is granted the lock meanwhile: the master has forgotten the lease.
 */
async function grantedDuringTransfer() {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const master = new Master(machine);
  const redlock = new Redlock([master], { runtime: machine, waitTimeout: 100_000, nodeTimeout: 400 });
  const giveUp = new AbortController();
  const [holding, second] = [
    redlock.acquire("r", ttl),
    redlock.acquire("r", ttl, { nodeTimeout: transferTime, signal: giveUp.signal }),
  ];
  const first = await time.run(holding);
  master.entry = "no";
  const waiting = redlock.acquire("r", shortTtl);
  // The lease is too old to be handed over unchanged.
  await time.advance(ttl / 5);
  const released = first.release();
  expect(master.count("transfer")).toBe(1);
  master.entry = "yes";
  const third = await time.run(waiting);
  master.entry = "no";
  return { time, master, redlock, giveUp, released, second, third };
}

test("a lease that is released while another is being transferred goes to the master, not to the same call", async () => {
  const { time, master, redlock, released, second, third } = await grantedDuringTransfer();
  await time.advance(shortTtl / 2);
  const [entries, releases] = [master.count("enqueue"), master.count("release")];
  expect((await time.run(third.release())).outcome).toBe("released");
  expect(master.count("transfer")).toBe(1);
  expect(master.count("release")).toBe(releases + 1);
  // It enters the queue once the transfer has failed, not while it may succeed.
  expect(master.count("enqueue")).toBe(entries);
  master.entry = "yes";
  const lock = await time.run(second);
  expect(master.count("enqueue")).toBe(entries + 1);
  expect((await released).outcome).toBe("partial");
  expect((await time.run(lock.release())).outcome).toBe("released");
  await time.run(redlock.quit());
});

test("a call enters the queue after a failed transfer though a lease that was granted meanwhile has ended", async () => {
  const { time, master, redlock, second, third } = await grantedDuringTransfer();
  await time.advance(shortTtl);
  expect(third.state).toBe("lost");
  const entries = master.count("enqueue");
  master.entry = "yes";
  const lock = await time.run(second, transferTime);
  expect(master.count("enqueue")).toBe(entries + 1);
  expect((await time.run(lock.release())).outcome).toBe("released");
  await time.run(redlock.quit());
});

test("quit waits for a transfer although no call waits any more", async () => {
  const { time, master, redlock, giveUp, second } = await grantedDuringTransfer();
  giveUp.abort();
  const { error } = await time.measure(second);
  expect(error).toMatchObject({ code: "ABORTED" });
  await time.advance(shortTtl);
  const quitting = redlock.quit();
  await time.advance(100);
  expect(master.closedAfter).toBeUndefined();
  master.transferred();
  await time.run(quitting);
  // The lease of the transfer has no holder.
  expect(master.closedAfter).toBe("release");
});

test("a lease that was handed on by a longer one has the time-outs of its own ttl", async () => {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const master = new Master(machine);
  const redlock = new Redlock([master], { runtime: machine, waitTimeout: 100_000 });
  const [holding, next] = [redlock.acquire("r", ttl), redlock.acquire("r", 400)];
  const first = await time.run(holding);
  await time.advance(ttl / 5);
  const released = first.release();
  master.transferred();
  const lock = await time.run(next);
  await time.run(released);
  master.isMute = true;
  expect((await time.measure(lock.release())).took).toBe(50);
});

test("a release with a nodeTimeout above the longest timer waits for its token transfer", async () => {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const master = new Master(machine);
  const redlock = new Redlock([master], { runtime: machine, waitTimeout: 100_000, nodeTimeout: 400 });
  const [holding, next] = [redlock.acquire("r", ttl), redlock.acquire("r", ttl)];
  const lock = await time.run(holding);
  await time.advance(ttl / 5);
  const released = redlock.release(lock, { nodeTimeout: 2 * maxTimerDelay });
  await time.advance(100);
  master.transferred();
  expect((await time.run(released)).outcome).toBe("released");
  await time.run((await time.run(next)).release());
  await time.run(redlock.quit());
});
