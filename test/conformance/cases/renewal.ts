import { setTimeout as pause } from "node:timers/promises";
import { Stalls } from "@quorlock/testbed";
import { type Case, verdict } from "../case.ts";
import type { Fixture } from "../fixture.ts";
import { Hold } from "../hold.ts";
import { errorInWords, outcomeOf } from "../outcome.ts";

/** The commands by which any library takes, extends or gives up a lock; looking at keys is none of them. */
const lockCommands = new Set(["SET", "EVAL", "EVALSHA", "PEXPIRE", "EXPIRE", "DEL"]);

/** For how long commands are counted, ms. */
const measured = 2000;
const day = 86_400_000;

interface Renewals {
  readonly ttl: number;
  /** Commands to one master for this lock while it was held, the first included. */
  readonly commands: number;
  readonly lost: boolean;
}

async function counted(fixture: Fixture, ttls: readonly number[]): Promise<readonly Renewals[]> {
  const subject = await fixture.open();
  const tap = await fixture.tap(0);
  const holds = await Promise.all(
    ttls.map(async (ttl) => {
      const resource = `${fixture.resource}:${ttl}`;
      fixture.onDispose(() => fixture.remove(resource));
      return { ttl, resource, hold: await Hold.begin(subject, resource, ttl) };
    }),
  );
  await pause(measured);
  const renewals = await Promise.all(
    holds.map(async ({ ttl, resource, hold }) => {
      const commands = (await tap.commands()).filter(
        ({ words }) => lockCommands.has(words[0]!) && words.includes(resource),
      ).length;
      return { ttl, commands, lost: (await hold.notifiedAt(0)) !== undefined };
    }),
  );
  await Promise.all(holds.map(({ hold }) => hold.end(3000)));
  return renewals;
}

function wordsOf(renewals: readonly Renewals[]): string {
  return renewals
    .map(({ ttl, commands, lost }) => `ttl ${ttl}: ${commands}${lost ? ", lost" : ""}`)
    .join("; ");
}

/** Due after a third of the ttl; a tenth of it is the least that may lie between two, whatever is configured. */
const mostInOneTtl = 10;

/** A lock of this ttl, ms, must not be lost in a test: what is shorter does not survive every stall. */
const shortestKept = 1000;

/** A stall of this part of a ttl can cost a lock of it, whatever the library does: as much passes until it extends. */
const costly = 1 / 3;

function shortTtls(ttls: readonly number[]): Case {
  return {
    row: 10,
    situation: `ttl ${ttls.join(", ")} ms: extended at a minimum interval, not in a hot loop`,
    bound:
      `in ${measured} ms at one master at most ${mostInOneTtl} commands for each ttl that passes (one is due after ` +
      "about a third of it), and two more to take the lock and to retry; one for each at least, and not lost (below " +
      `${shortestKept} ms: extended at all; nothing where this process stood still for a third of the ttl)`,
    mostlyWaits: true,
    async run(fixture) {
      using stalls = new Stalls();
      const renewals = await counted(fixture, ttls);
      const late = stalls.longest;
      const passed = (ttl: number) => measured / ttl;
      const words = `commands in ${measured} ms: ${wordsOf(renewals)}; timers up to ${Math.round(late)} ms late`;
      return verdict(words, {
        "a minimum interval": renewals.every(
          ({ ttl, commands }) => commands <= passed(ttl) * mostInOneTtl + 2,
        ),
        "extended in time": renewals.every(
          ({ ttl, commands, lost }) =>
            late > ttl * costly ||
            (ttl < shortestKept ? commands >= 2 : !lost && commands >= Math.floor(passed(ttl))),
        ),
      });
    },
  };
}

/** A hold is extended as often as it must be, and not more. */
export const renewal: readonly Case[] = [
  shortTtls([1250, 1000, 600]),
  shortTtls([400, 300]),
  {
    row: 11,
    situation: "ttl of 25 days, 400 days and 100 years: no timer overflow, no hot loop",
    bound:
      `one command per lock in ${measured} ms, that which took it, since no extension is due for days (one more is ` +
      "forgiven); no overflow warning by Node",
    mostlyWaits: true,
    async run(fixture) {
      const overflows: string[] = [];
      const onWarning = (warning: Error) => {
        if (warning.name === "TimeoutOverflowWarning") overflows.push(warning.message);
      };
      process.on("warning", onWarning);
      fixture.onDispose(() => void process.off("warning", onWarning));
      const outcome = await outcomeOf(() => counted(fixture, [25 * day, 400 * day, 36_525 * day]), 20_000);
      if (outcome.kind !== "resolved") {
        return verdict(outcome.kind === "rejected" ? errorInWords(outcome.error) : "pending", {
          held: false,
        });
      }
      const renewals = outcome.value;
      return verdict(
        `commands in ${measured} ms: ${wordsOf(renewals)}; ${overflows.length} overflow warnings`,
        {
          "no hot loop": renewals.every(({ commands }) => commands <= 2),
          "not lost": renewals.every(({ lost }) => !lost),
          "no overflow": overflows.length === 0,
        },
      );
    },
  },
];
