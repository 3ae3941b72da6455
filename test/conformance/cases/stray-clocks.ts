import type { Held } from "@quorlock/peers";
import { type ClockedMasters, startMastersWithClocks } from "@quorlock/testbed";
import { type Case, verdict } from "../case.ts";
import { Fixture } from "../fixture.ts";
import { type Library, offered, type Subject } from "../libraries/subject.ts";
import { outcomeOf } from "../outcome.ts";

const ttl = 30_000;
const options = { retryCount: 0, clockWatch: true };
const newClients = 40;

/** Three masters with their own clocks, for one case. */
async function withClocks<T>(
  library: Library,
  run: (fixture: Fixture, clocks: ClockedMasters["clocks"]) => Promise<T>,
): Promise<T> {
  await using masters = await startMastersWithClocks(3, { say: () => {} });
  await using fixture = await Fixture.start(library, masters.list);
  return await run(fixture, masters.clocks);
}

/** Held by the votes of two masters, of which the clock of one is then set forward beyond the ttl. */
async function heldByTwo(
  fixture: Fixture,
  key: string,
  acquire: () => Promise<Held>,
  clocks: ClockedMasters["clocks"],
): Promise<Held> {
  await fixture.occupy([2], ttl, key);
  const held = await acquire();
  await fixture.tell([2], "DEL", key);
  clocks[0]!.step(2 * ttl);
  return held;
}

/** Clocks of masters that are set. */
export const strayClocks: readonly Case[] = [
  {
    row: 27,
    situation: "a master's clock is set forward beside a lock: none of 40 new clients is a second holder",
    bound:
      "none is granted the lock while the first, of 30 s, is valid, with whatever the library has against masters whose " +
      "clocks are set: the two other masters agree on the time",
    run: ({ library }) =>
      withClocks(library, async (fixture, clocks) => {
        const holder = await fixture.open(undefined, options);
        const held = await heldByTwo(
          fixture,
          fixture.resource,
          () => holder.acquire(fixture.resource, ttl),
          clocks,
        );
        let second = 0;
        for (let count = 0; count < newClients; count += 1) {
          const subject = await fixture.openCold(undefined, options);
          const outcome = await outcomeOf(() => subject.acquire(fixture.resource, ttl), 2000);
          if (outcome.kind !== "resolved") continue;
          if (held.isValid()) second += 1;
          await subject.release(outcome.value);
        }
        return verdict(`${second} of ${newClients} were a second holder`, { "never two": second === 0 });
      }),
  },
  {
    row: 27,
    situation:
      "a master's clock is set forward beside a writer: no second writer, and no second holder of a lock",
    bound:
      "what is true of an ordinary lock is true of a readers-writer lock: a client that watches the clocks is granted " +
      "neither while the first is valid",
    run: ({ library }) =>
      withClocks(library, async (fixture, clocks) => {
        const [holder, rival] = await Promise.all([1, 2].map(() => fixture.open(undefined, options)));
        const write = (subject: Subject) => offered(subject, "write")(fixture.resource, ttl);
        const key = `quorlock:rw:{${fixture.resource}}:write`;
        const held = await heldByTwo(fixture, key, () => write(holder!), clocks);
        const written = await outcomeOf(() => write(rival!), 3000);
        const isSecond = written.kind === "resolved" && held.isValid();
        return verdict(`a second writer is ${isSecond ? "" : "not "}let in`, { "never two": !isSecond });
      }),
  },
];
