import { simulate } from "@quorlock/simulation";
import { expect, test } from "vitest";

// Is your code under a lock right? A lock tells a holder when its time is over, but it cannot reach into a process
// that was stopped between its last look at the lock and what it does next. Here is how to see that in a test, and
// what helps: a resource that refuses what comes too late.

/** The account that everybody books from, on a server of its own. */
class Account {
  balance = 1000;
  booked = 0;
  version = 0;

  read(): { balance: number; version: number } {
    return { balance: this.balance, version: this.version };
  }

  /** Believes whoever writes. */
  write(balance: number): void {
    this.balance = balance;
    this.booked += 1;
    this.version += 1;
  }

  /** Refuses whoever has not seen the latest write: `UPDATE ... WHERE version = $1`. */
  writeIfUnchanged(version: number, balance: number): boolean {
    if (version !== this.version) return false;
    this.write(balance);
    return true;
  }
}

const bank = {
  resource: () => new Account(),
  /** Each booking takes 1. One that is lost takes nothing. */
  invariant: ({ balance, booked }: Account) =>
    balance === 1000 - booked ? "" : `${booked} bookings took ${1000 - balance}`,
};

test("check, then write: a booking is lost when the holder is stopped in between", async () => {
  const result = await simulate({
    ...bank,
    async client({ redlock, resource }) {
      await using lock = await redlock.acquire("account", 1000);
      const { balance } = await resource.read();
      if (lock.remaining() > 0) await resource.write(balance - 1);
    },
  });
  expect(result.verdict).toBe("violated");
  console.log([`seed ${result.seed}: ${result.violation}`, ...result.story].join("\n  "));
});

test("the resource checks what the holder has seen: nothing is lost, whatever happens", async () => {
  const result = await simulate({
    ...bank,
    async client({ redlock, resource }) {
      await using lock = await redlock.acquire("account", 1000);
      const { balance, version } = await resource.read();
      if (lock.remaining() > 0) await resource.writeIfUnchanged(version, balance - 1);
    },
  });
  expect(result).toMatchObject({ verdict: "ok", runs: 100 });
});
