import { expect, test } from "vitest";
import type { LockNode, LockQueue, OnPush, Question, Sink, Verb } from "../protocol/node.ts";
import { Redlock } from "../redlock.ts";
import { refusal, VirtualMachine, VirtualTime } from "../virtual-time.test.ts";

// PROTOCOL 7.16, 7.17.

/** A master with one key and one waiter. It refuses every plain vote, so all calls wait. */
class Master implements LockNode {
  readonly name = "master";
  readonly client = {};
  readonly queue: LockQueue;
  verbs: Verb[] = [];
  readonly #machine: VirtualMachine;
  #owner: string | undefined;
  #waiter: string | undefined;
  #onPush: OnPush = () => {};

  constructor(machine: VirtualMachine, isListening: boolean) {
    this.#machine = machine;
    const listen = async (_: string, onPush: OnPush) => {
      if (isListening) this.#onPush = onPush;
    };
    this.queue = { listen, isListening };
  }

  ask({ verb, words, ttl }: Question, place: number, sink: Sink): void {
    this.verbs.push(verb);
    const [token = ""] = words;
    if (verb === "release") {
      this.#owner = this.#waiter;
      const granted = this.#waiter;
      this.#waiter = undefined;
      this.#later(() => sink.answered(place, { is: "done" }));
      if (granted !== undefined)
        this.#later(() => this.#onPush({ is: "grant", token: granted, counter: undefined, nextTicket: 0 }));
    } else if (verb === "vote") {
      this.#later(() => sink.answered(place, refusal("other.1", ttl)));
    } else if (this.#owner === undefined || waiterIn(this.#owner) === waiterIn(token)) {
      this.#owner = token;
      this.#later(() => sink.answered(place, { is: "yes", remaining: ttl }));
    } else {
      this.#waiter = token;
      const refused = refusal(this.#owner, ttl);
      this.#later(() => sink.answered(place, refused));
    }
  }

  #later(answer: () => void): void {
    this.#machine.receive(answer, 1);
  }

  onReady(): () => void {
    return () => {};
  }

  async close(): Promise<void> {}

  disconnect(): void {}
}

function waiterIn(token: string): string {
  return token.replace(/\.\d+$/, "");
}

const ttl = 10_000;

/** One call holds the lock, and another one of its process waits. */
async function heldHere(isListening: boolean) {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const master = new Master(machine, isListening);
  const settings = { runtime: machine, waitTimeout: 100_000, retryDelay: 30_000, retryJitter: 0 };
  const redlock = new Redlock([master], settings);
  const [first, second] = [redlock.acquire("r", ttl), redlock.acquire("r", ttl)];
  const lock = await time.run(first);
  await time.advance(50);
  master.verbs = [];
  return { time, master, lock, second };
}

test("a lease that is fresh is handed to the next call here, and nothing is sent", async () => {
  const { time, master, lock, second } = await heldHere(true);
  await time.run(lock.release());
  expect((await time.run(second)).remaining()).toBeLessThan(ttl);
  expect(master.verbs).toEqual([]);
});

test.each([
  ["enters the queue before the release is sent", true, ["enqueue", "release"], 1],
  [
    "asks again behind it, without retryDelay, where no message comes",
    false,
    ["enqueue", "release", "enqueue"],
    2,
  ],
] as const)("the next call behind a lease that is not fresh %s", async (_, isListening, kinds, took) => {
  const { time, master, lock, second } = await heldHere(isListening);
  await time.advance(ttl / 5);
  const released = lock.release();
  expect((await time.measure(second)).took).toBe(took);
  expect(master.verbs).toEqual(kinds);
  expect((await time.run(released)).outcome).toBe("released");
  expect((await second).remaining()).toBeGreaterThan(ttl * 0.98);
});
