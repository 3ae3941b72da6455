import type { Lock } from "@quorlock/redlock";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";
import { Fleet, fresh, type OpenOptions, timed } from "../integration/fleet/fleet.ts";
import { type Answer, startHostileServer } from "./hostile-server.ts";

// PROTOCOL 1.7.

// Replies that are well formed and not true. Redlock is for masters that fail, not for masters that lie: two
// clients may each win two liars and one honest master of five. So nothing here is about exclusion; but a client that
// holds a quorum of honest masters keeps it, and no client waits for longer than the honest ones say.
let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start(3);
});
afterAll(() => fleet?.stop());

const ttl = 20_000;
const nodeTimeout = 2000;
/** The time a busy machine may add, ms. */
const slack = 4000;

/** SET is answered with OK, scripts with this. */
const script =
  (reply: string): Answer =>
  (socket, command) =>
    void socket.write(command === "SET" ? "+OK\r\n" : reply);
/** SET is refused, and the question by whom is answered with this. */
const refusal =
  (reply: string): Answer =>
  (socket, command) =>
    void socket.write(command === "SET" ? "$-1\r\n" : reply);

const lies: Record<string, Answer> = {
  "a yes for 292 million years": script("*2\r\n:0\r\n:9223372036854775807\r\n"),
  "a yes for longer than 64 bits count": script("*2\r\n:0\r\n:99999999999999999999999\r\n"),
  "a yes for a time that is over": script("*2\r\n:0\r\n:-9223372036854775808\r\n"),
  "a refusal for 292 million years": refusal("*3\r\n:1\r\n$3\r\nabc\r\n:9223372036854775807\r\n"),
  "a refusal for ever": refusal("*3\r\n:1\r\n$3\r\nabc\r\n:-1\r\n"),
  "a refusal for a time that is over": refusal("*3\r\n:1\r\n$3\r\nabc\r\n:-9223372036854775808\r\n"),
  "a refusal without an owner": refusal("*3\r\n:1\r\n$-1\r\n:-2\r\n"),
  "a yes, and twice": "+OK\r\n+OK\r\n",
};

/**
 * All honest masters have its keys. Where liars were enough for a quorum some may still be on the way, and if the
 * liars then take back what they said nothing is left of it.
 */
function untilHeldBy(lock: Lock): Promise<void> {
  return until("the masters have the keys", async () => {
    const values = await Promise.all(lock.resources.map((resource) => fleet.values(resource)));
    return values.flat().every((value) => value === lock.value);
  });
}

/** Three masters and two that answer so. */
async function among(answer: Answer, options: OpenOptions = {}) {
  const liars = [await startHostileServer(answer), await startHostileServer(answer)];
  const opened = fleet.open({ on: [...fleet.masters, ...liars], nodeTimeout, ...options });
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      for (const client of opened.clients) client.disconnect();
      for (const liar of liars) await liar[Symbol.asyncDispose]();
    },
  };
}

describe.concurrent("two of five masters answer with", () => {
  it.each(Object.entries(lies))("%s: a hold is what the others keep", async (_, answer) => {
    await using fixture = await among(answer);
    for (const resources of [[fresh()], [fresh(), fresh()]]) {
      const lock = await fixture.redlock.acquire(resources, ttl);
      await untilHeldBy(lock);
      expect(lock.remaining()).toBeLessThan(ttl);
      expect(lock.remaining()).toBeGreaterThan(ttl - slack);
      await lock.extend(ttl);
      expect(lock.remaining()).toBeLessThan(ttl);
      expect(await lock.verify()).toBe(true);
      expect(lock.state).toBe("held");
      expect((await lock.release()).outcome).toBe("released");
      await fleet.untilGone(resources[0]!);
    }
  });

  it.each(Object.entries(lies))(
    "%s: who waits gets the lock when the others have it free",
    async (_, answer) => {
      const retryDelay = 300;
      await using fixture = await among(answer, { waitTimeout: 60_000, retryDelay, retryJitter: 0 });
      const resource = fresh();
      const foreign = 500;
      // On two: with them it is the liars whose refusals decide, however long they say.
      await fleet.occupy(resource, fleet.masters.slice(0, 2), foreign);
      const { result: lock, net } = await timed(() => fixture.redlock.acquire(resource, ttl));
      expect(net).toBeLessThan(foreign + retryDelay + slack);
      await lock.release();
    },
  );
});

/** Yes, refusals, errors, half a reply, the end: the next one for each command that comes. */
function fickle(): Answer {
  const answers: readonly Answer[] = [
    "+OK\r\n",
    "$-1\r\n",
    "*2\r\n:0\r\n:20000\r\n",
    "*3\r\n:1\r\n$3\r\nabc\r\n:1000\r\n",
    ":1\r\n",
    "-READONLY You can't write against a read only replica.\r\n",
    "-NOSCRIPT No matching script\r\n",
    "*3\r\n:1\r\n",
    (socket) => void socket.resetAndDestroy(),
    () => {},
  ];
  let next = 0;
  return (socket, command, words) => {
    const answer = answers[next % answers.length]!;
    next += 1;
    if (typeof answer === "function") answer(socket, command, words);
    else if (socket.writable) socket.write(answer);
  };
}

describe("two of five masters change their answer to the same question", () => {
  it.concurrent.each([1, 2])(
    "the quorum of the others works throughout, with %i resources",
    async (count) => {
      await using fixture = await among(fickle());
      for (let round = 0; round < 40; round += 1) {
        const resources = Array.from({ length: count }, () => fresh());
        const lock = await fixture.redlock.acquire(resources, ttl, { retryCount: 0 });
        await untilHeldBy(lock);
        await lock.extend(ttl);
        expect(await lock.verify()).toBe(true);
        expect(lock.remaining()).toBeGreaterThan(0);
        expect((await lock.release()).outcome).toBe("released");
      }
      const told = new Set(fixture.errors.map(({ reason }) => reason));
      expect([...told]).toEqual(expect.arrayContaining(["UNEXPECTED_REPLY", "UNREACHABLE"]));
    },
  );
});
