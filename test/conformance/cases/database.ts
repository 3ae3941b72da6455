import { setTimeout as pause } from "node:timers/promises";
import { type Case, verdict } from "../case.ts";

const wanted = 5;
const bound =
  "while held the key is in database 5 of each master and in no other: a default would be database 0";

/** Locks live where the client's other data does. */
export const database: readonly Case[] = [
  {
    row: 19,
    situation: "clients configured for database 5: the lock is there",
    bound,
    masters: 3,
    async run(stage) {
      const subject = await stage.open(undefined, { database: wanted });
      const held = await subject.acquire(stage.resource, 5000);
      const found = await stage.databases([0, wanted]);
      await subject.release(held);
      return verdict(`databases ${JSON.stringify(found)}`, { "in database 5 only": found.every(isWanted) });
    },
  },
  {
    row: 19,
    situation: "clients switched with select(5) at run time: the lock is there",
    bound,
    masters: 3,
    async run(stage) {
      const subject = await stage.open();
      await subject.select(wanted);
      const held = await subject.acquire(stage.resource, 5000);
      const found = await stage.databases([0, wanted]);
      await subject.release(held);
      return verdict(`databases ${JSON.stringify(found)}`, { "in database 5 only": found.every(isWanted) });
    },
  },
  {
    row: 19,
    situation: "clients switched with select(5) while a lock is held: nobody is let in beside its holder",
    bound:
      "for 3 ttls of 1500 ms after the switch another client, in the first database, is not granted the lock while its holder's library calls it held",
    masters: 3,
    mostlyWaits: true,
    async run(stage) {
      const ttl = 1500;
      const subject = await stage.open();
      const rival = await stage.open(undefined, { retryCount: 0 });
      let wasHeldTwice = false;
      const work = subject.using(stage.resource, ttl, async (signal) => {
        await subject.select(wanted);
        const end = performance.now() + 3 * ttl;
        while (!signal.aborted && !wasHeldTwice && performance.now() < end) {
          await pause(100);
          const theirs = await rival.acquire(stage.resource, ttl).catch(() => undefined);
          wasHeldTwice = theirs !== undefined && !signal.aborted;
          if (theirs) await rival.release(theirs);
        }
      });
      // (Some say by a rejection that the lock was lost.)
      await work.catch(() => {});
      return verdict(wasHeldTwice ? "two holders" : "one holder at a time", {
        "one holder at a time": !wasHeldTwice,
      });
    },
  },
];

function isWanted(found: readonly number[]): boolean {
  return found.length === 1 && found[0] === wanted;
}
