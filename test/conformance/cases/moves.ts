import { startMasters } from "@quorlock/testbed";
import { type Case, type Verdict, verdict } from "../case.ts";
import { Fixture } from "../fixture.ts";
import type { Subject } from "../libraries/subject.ts";
import { inWords, outcomeOf, polled } from "../outcome.ts";

const options = { retryCount: 0, reconnectOnReadonly: true };
const backIn = 5000;

/** Whether it locks again, and when, ms from now. */
async function locksAgain(fixture: Fixture, subject: Subject): Promise<Verdict> {
  const begun = performance.now();
  let last = "nothing";
  const again = await polled(
    async () => {
      const outcome = await outcomeOf(() => subject.acquire(fixture.resource, 5000), 2000);
      last = inWords(outcome);
      if (outcome.kind !== "resolved") return undefined;
      await subject.release(outcome.value);
      return performance.now() - begun;
    },
    backIn,
    100,
  );
  const words = again === undefined ? `not again: ${last}` : `again after ${Math.round(again)} ms`;
  return verdict(words, { [`locks again within ${backIn} ms`]: again !== undefined });
}

const bound = `an attempt is granted within ${backIn} ms, by a majority of masters, all of which accept new connections`;

/** Masters that are not where they were, or not as they were. */
export const moves: readonly Case[] = [
  {
    row: 32,
    situation: "the connections to a majority go silent, and new ones work: locks again",
    bound,
    mostlyWaits: true,
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path, options);
      for (const proxy of path.slice(0, 2)) proxy.freeze();
      return locksAgain(fixture, subject);
    },
  },
  {
    row: 32,
    situation:
      "the addresses of a majority lead to other masters, the old ones are replicas now: locks again",
    bound: `${bound}; the application's clients connect again where they hear READONLY`,
    async run({ library }) {
      await using masters = await startMasters(3, { say: () => {} });
      await using others = await startMasters(2, { say: () => {} });
      await using fixture = await Fixture.start(library, masters.list);
      const path = await fixture.path();
      const subject = await fixture.open(path, options);
      for (const [index, { host, port }] of others.list.entries()) {
        path[index]!.pointTo({ host, port });
        await fixture.tell([index], "REPLICAOF", host, `${port}`);
      }
      const result = await locksAgain(fixture, subject);
      await fixture.tell([0, 1], "REPLICAOF", "NO", "ONE");
      return result;
    },
  },
  {
    row: 32,
    situation: "the passwords of all masters are changed, and their connections closed: locks again",
    bound: `${bound}; the application has set the new passwords on its clients before`,
    async run({ library }) {
      await using masters = await startMasters(3, { say: () => {} });
      await using fixture = await Fixture.start(library, masters.list);
      const subject = await fixture.open(undefined, options);
      for (const client of subject.clients)
        Object.assign(client.options, { username: "default", password: "new" });
      const every = masters.list.map((_, index) => index);
      await fixture.tell(every, "ACL", "SETUSER", "default", "resetpass", ">new");
      for (const type of ["normal", "pubsub"]) await fixture.tell(every, "CLIENT", "KILL", "TYPE", type);
      const result = await locksAgain(fixture, subject);
      await fixture.tell(every, "ACL", "SETUSER", "default", "nopass");
      return result;
    },
  },
];
