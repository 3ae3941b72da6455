import { inspect } from "node:util";
import { NotOfferedError } from "@quorlock/peers";
import { type Case, verdict } from "../case.ts";
import { offered } from "../libraries/subject.ts";
import { inWords, outcomeOf, polled } from "../outcome.ts";

const patient = { retryCount: 100, retryDelay: 50 };
const longTtl = 30_000;

const givenAway: readonly Case[] = [
  {
    row: 24,
    situation:
      "a lock that was granted after a wait is detached: late grants to its first holder do not delete the receiver's keys",
    bound:
      "the receiver's token stays on all three masters for a second after the giver, whose own lease is over, has heard " +
      "of a master's late grant",
    async run(fixture) {
      const path = await fixture.path();
      const [holder, giver, receiver] = await Promise.all([
        fixture.open(),
        fixture.open(path, patient),
        fixture.open(),
      ]);
      const detach = offered(giver, "detach");
      const resume = offered(receiver, "resume");
      const held = await holder.acquire(fixture.resource, longTtl);
      const waiting = giver.acquire(fixture.resource, 800);
      await fixture.untilQueued();
      path[2]!.hold("replies");
      await holder.release(held);
      const given = await waiting;
      const detached = await detach(given);
      const resumed = await resume(detached, longTtl);
      await fixture.untilAll(resumed.token);
      // The giver's own lease is over.
      await polled(async () => (given.remaining() <= 0 ? true : undefined), 2000);
      await outcomeOf(() => new Promise(() => {}), 800);
      path[2]!.release("replies");
      const taken = await polled(async () => {
        const tokens = await fixture.tokens();
        return tokens.some((token) => token !== resumed.token) ? tokens : undefined;
      }, 1000);
      return verdict(taken ? "a vote was taken back" : "every vote stands", {
        "nothing taken back": taken === undefined,
        "the receiver holds": resumed.isValid(),
      });
    },
  },
  {
    row: 24,
    situation: "a lock is detached while others wait in the same process: they get it when it is released",
    bound:
      "the next one is granted within 1000 ms of the receiver's release: every waiter is in the masters' " +
      "queues, or asks again soon",
    async run(fixture) {
      const [holder, giver, receiver] = await Promise.all([
        fixture.open(),
        fixture.open(undefined, patient),
        fixture.open(),
      ]);
      const detach = offered(giver, "detach");
      const resume = offered(receiver, "resume");
      const held = await holder.acquire(fixture.resource, longTtl);
      const acquire = () => giver.acquire(fixture.resource, longTtl);
      const waiting = [acquire(), acquire()] as const;
      await fixture.untilQueued();
      await holder.release(held);
      const detached = await detach(await waiting[0]);
      const resumed = await resume(detached, longTtl);
      await receiver.release(resumed);
      const next = await outcomeOf(() => waiting[1], 15_000);
      return verdict(`the next one ${inWords(next)}`, {
        "granted within 1000 ms": next.kind === "resolved" && next.after < 1000,
      });
    },
  },
];

/** Operations of other processes on a lock. */
export const detached: readonly Case[] = [
  ...givenAway,
  {
    row: 25,
    situation:
      "the lock is logged inside `using`, as JSON and as a console shows it: it stays held, and the log has no token",
    bound:
      "held for three times its ttl of 1000 ms after that, released at the end, and its token is not in the log: " +
      "a reader of the log must not be able to release",
    mostlyWaits: true,
    async run(fixture) {
      const subject = await fixture.open();
      let log = "";
      let isLost = false;
      const [token] = await subject.using(fixture.resource, 1000, async (signal, lock) => {
        if (lock === undefined) throw new NotOfferedError("the routine is not given the lock");
        log = `${JSON.stringify({ lock })} ${inspect({ lock }, { depth: 10 })}`;
        // A master whose vote was not waited for may have none yet.
        const tokens = (await fixture.tokens()).filter((one) => one !== undefined);
        await outcomeOf(() => new Promise((resolve) => signal.addEventListener("abort", resolve)), 3000);
        isLost = signal.aborted || (await fixture.tokens()).filter((one) => one === tokens[0]).length < 2;
        return tokens;
      });
      const gone = await fixture.untilNoKeys(500);
      return verdict(`log of ${log.length} characters, ${isLost ? "lost" : "held"}`, {
        "goes on": !isLost,
        released: gone !== undefined,
        "no token in the log": token !== undefined && !log.includes(token),
      });
    },
  },
];
