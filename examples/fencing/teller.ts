import type { Redlock } from "@quorlock/redlock";
import { parentOf } from "@quorlock/simulation/processes";
import { connect } from "../fixture/connect.ts";

// A process that books a payment: it gets the balance under the lock, and writes it back with the lock's fencing token.

export const ttl = 1_000;

/** The write of a payment, with the token of the lock under which it is made. */
export interface Payment {
  readonly balance: number;
  readonly token: number;
}

/** The calls that a teller offers. */
export interface Teller {
  open(urls: readonly string[]): Promise<void>;
  /** Resolves with the fencing token of the lock. */
  acquire(): Promise<number>;
  /** Its writes; none if its lock is over. */
  book(amount: number, balance: number, isPaused: boolean): Payment | undefined;
  /** The state of its lock. */
  look(): string;
  leave(): Promise<void>;
}

let redlock: Redlock;
let lock: Awaited<ReturnType<Redlock["acquire"]>>;

parentOf<object, Teller>({
  async open(urls) {
    redlock = connect(urls, { fencing: true });
    await redlock.inspect("account");
  },
  async acquire() {
    lock = await redlock.acquire("account", ttl, { waitTimeout: 10 * ttl });
    return lock.fencingToken!;
  },
  book(amount, balance, isPaused) {
    // The lock is checked right before the write,
    if (lock.remaining() === 0) return undefined;
    // but then the whole process is suspended, as by a garbage collection or the migration of a virtual machine.
    if (isPaused) process.kill(process.pid, "SIGSTOP");
    return { balance: balance - amount, token: lock.fencingToken! };
  },
  look: () => lock.state,
  leave: () => redlock.quit(),
});
