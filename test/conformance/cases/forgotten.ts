import { type Masters, startMasters } from "@quorlock/testbed";
import { type Case, verdict } from "../case.ts";
import { Fixture } from "../fixture.ts";
import { inWords, outcomeOf } from "../outcome.ts";

const ttl = 10_000;
const options = { retryCount: 0, restartGuard: ttl };

/** How the third of three masters comes to have forgotten a lock. */
const ways: ReadonlyArray<readonly [string, (fixture: Fixture, masters: Masters) => Promise<unknown>]> = [
  ["is emptied", (fixture) => fixture.tell([2], "FLUSHALL")],
  ["is restarted with nothing", (_, masters) => masters.list[2]!.restart()],
  ["exchanges two databases, both in use", (fixture) => fixture.tell([2], "SWAPDB", "0", "1")],
];

/** Masters that forget. */
export const forgotten: readonly Case[] = ways.map(
  ([what, forget]): Case => ({
    row: 31,
    situation: `a master ${what} while a lock is held by two: no second holder`,
    bound:
      "no other client is granted the lock while it is valid, with the library's options against masters that forget",
    async run({ library }) {
      await using masters = await startMasters(3, { say: () => {} });
      await using fixture = await Fixture.start(library, masters.list);
      const holder = await fixture.open(undefined, options);
      await fixture.open(undefined, { ...options, database: 1 });
      const rival = await fixture.open(undefined, options);
      await fixture.occupy([0], 60_000);
      const held = await holder.acquire(fixture.resource, ttl);
      await fixture.tell([0], "DEL", fixture.resource);
      await forget(fixture, masters);
      const outcome = await outcomeOf(() => rival.acquire(fixture.resource, ttl), 3000);
      const isSecond = outcome.kind === "resolved" && held.isValid();
      return verdict(inWords(outcome), { "never two": !isSecond });
    },
  }),
);
