import { type Masters, startMasters } from "@quorlock/testbed";
import { type Case, verdict } from "../case.ts";
import { inWords, outcomeOf } from "../outcome.ts";
import { Stage } from "../stage.ts";

const ttl = 10_000;
const options = { retryCount: 0, restartGuard: ttl };

/** How the third of three masters comes to have forgotten a lock. */
const ways: ReadonlyArray<readonly [string, (stage: Stage, masters: Masters) => Promise<unknown>]> = [
  ["is emptied", (stage) => stage.tell([2], "FLUSHALL")],
  ["is restarted with nothing", (_, masters) => masters.list[2]!.restart()],
  ["exchanges two databases, both in use", (stage) => stage.tell([2], "SWAPDB", "0", "1")],
];

/** Masters that forget. */
export const forgotten: readonly Case[] = ways.map(
  ([what, forget]): Case => ({
    row: 31,
    situation: `a master ${what} while a lock is held by two: no second holder`,
    bound:
      "nobody else is granted the lock while it is valid, with whatever the library has against masters that forget",
    masters: 1,
    async run({ library }) {
      await using masters = await startMasters(3, { say: () => {} });
      await using stage = await Stage.set(library, masters.list);
      const holder = await stage.open(undefined, options);
      await stage.open(undefined, { ...options, database: 1 });
      const rival = await stage.open(undefined, options);
      await stage.occupy([0], 60_000);
      const held = await holder.acquire(stage.resource, ttl);
      await stage.tell([0], "DEL", stage.resource);
      await forget(stage, masters);
      const outcome = await outcomeOf(() => rival.acquire(stage.resource, ttl), 3000);
      const isSecond = outcome.kind === "resolved" && held.isValid();
      return verdict(inWords(outcome), { "never two": !isSecond });
    },
  }),
);
