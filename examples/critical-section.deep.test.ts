import { simulate } from "@quorlock/simulation";
import { expect, test } from "vitest";

// Tests whether a critical section is safe. A lock aborts the holder's signal when the lease ends, so a holder that was stopped
// for too long does not write: the first test finds code that does not look, the second shows that looking helps. But no lock
// stops a process that is suspended between its last look and the write: that is the second verdict, and the remedy is a resource
// that rejects stale writes.

/** The account that all clients book from, on its own server. */
class Account {
  balance = 1000;
  booked = 0;
  version = 0;

  read(): { balance: number; version: number } {
    return { balance: this.balance, version: this.version };
  }

  /** Accepts every write. */
  write(balance: number): void {
    this.balance = balance;
    this.booked += 1;
    this.version += 1;
  }

  /** Rejects a writer that has not read the latest version: `UPDATE ... WHERE version = $1`. */
  writeIfUnchanged(version: number, balance: number): boolean {
    if (version !== this.version) return false;
    this.write(balance);
    return true;
  }
}

const bank = {
  resource: () => new Account(),
  /** Each booking takes 1; a lost booking takes nothing. */
  invariant: ({ balance, booked }: Account) =>
    balance === 1000 - booked ? "" : `${booked} bookings took ${1000 - balance}`,
};

test("a write without a look at the lock: a booking is lost when the holder is stopped", async () => {
  const result = await simulate({
    ...bank,
    async client({ redlock, resource }) {
      await using _ = await redlock.acquire("account", 1000);
      const { balance } = await resource.read();
      await resource.write(balance - 1);
    },
  });
  expect(result.verdict).toBe("violated");
  console.log(result.report);
});

test("check, then write: safe with a lock, and needs a fencing token", async () => {
  const result = await simulate({
    ...bank,
    async client({ redlock, resource }) {
      await using lock = await redlock.acquire("account", 1000);
      const { balance } = await resource.read();
      if (lock.remaining() > 0) await resource.write(balance - 1);
    },
  });
  expect(result).toMatchObject({ verdict: "ok", fencing: { verdict: "needs a fencing token" } });
  console.log(result.report);
});

test("the resource checks the version that the holder has read: no booking is lost", async () => {
  const result = await simulate({
    ...bank,
    async client({ redlock, resource }) {
      await using lock = await redlock.acquire("account", 1000);
      const { balance, version } = await resource.read();
      if (lock.remaining() > 0) await resource.writeIfUnchanged(version, balance - 1);
    },
  });
  expect(result).toMatchObject({ verdict: "ok", fencing: { verdict: "safe" } });
});
