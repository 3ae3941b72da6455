import { RedisNode } from "@quorlock/redlock/internal";
import { describe, expect, it } from "vitest";
// The package makes nodes of clients and exports no function for it.
import { connectionOf } from "../../packages/redlock/src/adapters/client-libraries.ts";
import { ask } from "../contract/ask.ts";
import { until } from "../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions } from "../integration/fleet/fleet.ts";
import { startHostileServer } from "./hostile-server.ts";
import { type Asked, liar, push, type Said } from "./liar.ts";

// PROTOCOL 7.2, 8.4, 12.3, 13.3.

// One master of several says numbers that cannot be, or that can and are not so. It may have no vote; but whatever it
// says is over with its reply: locks on other resources, and of other clients, never hear of it.
const fleet = Fleet.forTests(4);

const ttl = 20_000;
/** Tokens are made of the time in microseconds: a day behind now, and no further. */
const soon = (): number => (Date.now() + 86_400_000) * 1000;

interface Fixture extends Opened, AsyncDisposable {}

/** The liar comes first, so that its answer mostly does. */
async function besides(
  honest: number,
  lie: (asked: Asked) => Said | undefined,
  options: OpenOptions = {},
): Promise<Fixture> {
  const server = await startHostileServer(liar(lie));
  const on = [server, ...fleet.masters.slice(0, honest)];
  const opened = fleet.open({ on, ...options });
  // Nothing is left unsaid because a connection came late.
  await opened.redlock.inspect(fresh());
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      for (const client of opened.clients) client.disconnect();
      await server[Symbol.asyncDispose]();
    },
  };
}

const isClaim = ({ kind }: Asked): boolean => "vpeq".includes(kind);
const reasons = ({ errors }: Opened): readonly string[] => [...new Set(errors.map(({ reason }) => reason))];

const impossible = [
  "inf",
  "-inf",
  "nan",
  "1e22",
  "1.5",
  "-1",
  "",
  " 7",
  "7 ",
  "0x10",
  "7abc",
  "9007199254740992",
  "99999999999999999999999",
];

/** Fencing tokens that are possible, and that no other master has seen. */
const implausible = ["9007199254740991", "9007199253692415", "9007199253692414", "8000000000000000"];

describe.each([
  [2, [...impossible, ...implausible]],
  // A quorum without the liar is there as well.
  [4, ["inf", ...implausible]],
])("beside %i honest masters, one returns a false fencing counter", (honest, counters) => {
  it.each(counters)("%j: no client's tokens change", async (counter) => {
    await using fixture = await besides(
      honest,
      (asked) => (isClaim(asked) && asked.isFenced ? [-1, asked.ttl, counter] : undefined),
      { fencing: true },
    );
    const other = fleet.open({ fencing: true, on: fleet.masters.slice(0, honest) });
    let last = 0;
    for (let round = 0; round < 3; round += 1) {
      const resource = fresh();
      for (const redlock of [fixture.redlock, other.redlock, fixture.redlock]) {
        const lock = await redlock.acquire(resource, ttl);
        expect(lock.fencingToken).toBeLessThan(soon());
        expect(lock.fencingToken).toBeGreaterThan(last);
        last = lock.fencingToken!;
        await lock.release();
      }
      // Several at once go out in one command, and each has its own keys.
      const resources = Array.from({ length: 8 }, () => fresh());
      const locks = await Promise.all(resources.map((one) => fixture.redlock.acquire([one, `${one}+`], ttl)));
      for (const [index, lock] of locks.entries()) {
        expect(lock.fencingToken).toBeLessThan(soon());
        for (const name of [resources[index]!, `${resources[index]}+`]) {
          await until("the honest masters have it", async () => {
            const values = await fleet.values(name, fleet.masters.slice(0, honest));
            return values.filter((value) => value === lock.value).length >= honest - 1;
          });
        }
      }
      await Promise.all(locks.map((lock) => lock.release()));
    }
    for (const admin of fleet.admins.slice(0, honest)) {
      expect(Number(await admin.get("quorlock:floor"))).toBeLessThan(soon());
    }
    if (impossible.includes(counter)) expect(reasons(fixture)).toEqual(["UNEXPECTED_REPLY"]);
    else expect(fixture.errors).toEqual([]);
  });
});

const raw = (bytes: string): Said => ({ raw: bytes });

describe("one of three masters returns a false remaining time", () => {
  const times: Record<string, Said> = {
    "a fraction": raw(",20000.5\r\n"),
    "no number": raw(",nan\r\n"),
    "without end": raw(",inf\r\n"),
    "as text": "20000",
    "below all that PTTL says": -3,
    "beyond 64 bits": raw(":99999999999999999999999\r\n"),
  };

  it.each(Object.entries(times))("%s, in a refusal: it has no vote", async (_, time) => {
    await using fixture = await besides(2, (asked) =>
      isClaim(asked) ? [1, "abcdefgh", time, ...(asked.kind === "q" ? ["1"] : [])] : undefined,
    );
    const resources = [fresh(), fresh()];
    const lock = await fixture.redlock.acquire(resources, ttl);
    expect(await fixture.redlock.tryAcquire(resources, ttl)).toBeNull();
    await lock.release();
    await until("it is told", () => fixture.errors.length > 0);
    expect(reasons(fixture)).toEqual(["UNEXPECTED_REPLY"]);
  });

  it.each(Object.entries(times))("%s, in a yes: it has no vote", async (_, time) => {
    for (const fenced of [false, true]) {
      await using fixture = await besides(
        2,
        (asked) => {
          if (!isClaim(asked)) return undefined;
          return fenced ? [-1, time, "1"] : time;
        },
        { fencing: fenced },
      );
      const lock = await fixture.redlock.acquire([fresh(), fresh()], ttl);
      await lock.extend(ttl);
      expect(lock.remaining()).toBeGreaterThan(0);
      expect(lock.remaining()).toBeLessThan(ttl);
      await lock.release();
      await until("it is told", () => fixture.errors.length > 0);
      expect(reasons(fixture)).toEqual(["UNEXPECTED_REPLY"]);
    }
  });

  it.each(Object.entries(times))("%s, when it is looked at: it is told as unreachable", async (_, time) => {
    for (const queue of [true, false]) {
      await using fixture = await besides(
        2,
        // Without a queue it is asked by a claim that is refused.
        (asked) =>
          (queue ? asked.kind === "i" && ["abcdefgh", time, 0] : isClaim(asked) && [1, "abcdefgh", time]) ||
          undefined,
        { queue },
      );
      const [first] = await fixture.redlock.inspect(fresh());
      expect(first!.unreachable?.reason).toBe("UNEXPECTED_REPLY");
    }
  });
});

describe("one of three masters returns a false count", () => {
  it.each([-1, 3, "1", { raw: ",1.5\r\n" }, { raw: "$-1\r\n" }])("keys it has released: %j", async (said) => {
    await using fixture = await besides(2, ({ kind }) => ("rl".includes(kind) ? said : undefined));
    const lock = await fixture.redlock.acquire([fresh(), fresh()], ttl);
    expect((await lock.release()).outcome).toBe("released");
    await until("it is told", () => fixture.errors.length > 0);
    expect(reasons(fixture)).toEqual(["UNEXPECTED_REPLY"]);
  });

  it.each([-1, "2", null])("wait: %j", async (count) => {
    await using fixture = await besides(2, ({ kind }) => (kind === "i" ? [null, -2, count] : undefined));
    const [first] = await fixture.redlock.inspect(fresh());
    expect(first!.unreachable?.reason).toBe("UNEXPECTED_REPLY");
  });
});

describe("one of three masters returns as the largest ticket of a queue", () => {
  const tickets = [...impossible, ...implausible, "4000000000000000", "9007199254740990"];

  it.each(tickets)(
    "%j: who waits for something else has a place by its own time",
    async (ticket) => {
      await using fixture = await besides(2, (asked) =>
        asked.kind === "q" || asked.kind === "v" ? [1, "abcdefgh.1", ttl, ticket] : undefined,
      );
      const resource = fresh();
      for (const name of [resource, fresh(), fresh()]) {
        const held = await fleet.open({ on: fleet.masters.slice(0, 2) }).redlock.acquire(name, ttl);
        const waiting = fixture.redlock.acquire(name, ttl, { waitTimeout: 20_000 });
        const admin = fleet.admins[1]!;
        await until("it waits", async () => (await admin.zcard(`quorlock:queue:{${name}}`)) === 1);
        // Also after it has been asked again.
        await until("it has been told", () => fixture.errors.length > 0 || !impossible.includes(ticket));
        const [, score] = await admin.zrange(`quorlock:queue:{${name}}`, "0", "0", "WITHSCORES");
        expect(Number(score)).toBeLessThan((Date.now() + 60_000) * 1000);
        await held.release();
        await (await waiting).release();
      }
      if (impossible.includes(ticket)) expect(reasons(fixture)).toEqual(["UNEXPECTED_REPLY"]);
    },
    60_000,
  );
});

describe("one of three masters answers a batch", () => {
  const shifted: Record<string, (replies: readonly Said[]) => Said> = {
    "with a reply too few": (replies) => replies.slice(1),
    "with a reply too many": (replies) => [20_000, ...replies],
    "with none": () => [],
  };

  it.each(Object.entries(shifted))("%s: none of its replies counts", async (_, shift) => {
    const said = (count: number): Said => shift(Array.from({ length: count }, () => ttl));
    const server = await startHostileServer((socket, command, words) => {
      if (command === "SET") socket.write("+OK\r\n");
      else if (command !== "EVALSHA" && command !== "EVAL") socket.write("$-1\r\n");
      else {
        const replies = said(Number(words[2])) as readonly Said[];
        socket.write(`*${replies.length}\r\n${replies.map(() => `:${ttl}\r\n`).join("")}`);
      }
    });
    try {
      const client = fleet.open({ on: [server] }).clients[0]!;
      const node = new RedisNode(connectionOf(client));
      const claims = Array.from({ length: 8 }, (_, index) => ({
        resources: [`r${index}`],
        token: `token-${index}`,
        ttl,
        abandoned: false,
      }));
      const answers = await Promise.all(claims.map((claim) => ask(node).vote(claim)));
      for (const answer of answers) {
        expect(answer).toMatchObject({ is: "fault", error: { reason: "UNEXPECTED_REPLY" } });
      }
    } finally {
      await server[Symbol.asyncDispose]();
    }
  });
});

describe("one of three masters returns a false guard state", () => {
  const guard = { restartGuard: { maxTtl: ttl } };
  const findings: Record<string, readonly Said[]> = {
    "a maxTtl without end": [{ raw: ",inf\r\n" }, -2, "7", 0, "0"],
    "a negative maxTtl": [-5, -2, "7", 0, "0"],
    "a fraction for a maxTtl": [{ raw: ",0.5\r\n" }, -2, "7", 0, "0"],
    "a quarantine that is no time": [ttl, { raw: ",nan\r\n" }, "7", 0, "0"],
    "an epoch in words": [ttl, -2, "7,0,0,2;f0,7,9", 0, "0"],
    "another state": [ttl, -2, "7", 3, "0"],
    ...Object.fromEntries(
      impossible.map((floor) => [`a floor of ${JSON.stringify(floor)}`, [ttl, -2, "7", 0, floor]]),
    ),
  };

  it.each(Object.entries(findings))("%s: it is not heard, and the others are", async (_, said) => {
    await using fixture = await besides(2, ({ kind }) => (kind === "h" ? said : undefined), guard);
    for (const admin of fleet.admins.slice(0, 2)) await admin.flushall();
    const other = fleet.open({ ...guard, on: fleet.masters.slice(0, 2) });
    await other.redlock.initialize();
    const lock = await fixture.redlock.acquire(fresh(), 1000);
    await lock.release();
    for (const admin of fleet.admins.slice(0, 2)) await admin.flushall();
  });
});

describe("one of three masters returns as its time", () => {
  it.each([
    ["no number", ["nan", "0"]],
    ["without end", ["inf", "0"]],
    ["a fraction", ["1.5", "0"]],
    ["before all time", ["-1", "0"]],
    ["a million microseconds", ["1764000000", "1000000"]],
    ["seconds beyond all", ["99999999999999999999", "0"]],
    ["one word", ["1764000000"]],
    ["nothing", [null, null]],
  ] as const)("%s: its clock is not read", async (_, time) => {
    await using fixture = await besides(2, ({ kind }) => (kind === "c" ? time : undefined), {
      clockWatch: true,
    });
    const told: unknown[] = [];
    fixture.redlock.on("clock", (event) => told.push(event));
    for (let round = 0; round < 3; round += 1) await (await fixture.redlock.acquire(fresh(), ttl)).release();
    expect(told).toEqual([]);
  });
});

describe("one of three masters pushes", () => {
  it.each([
    ["a counter that is none", (token: string) => `${token} inf -`],
    ["a counter beyond 2^53", (token: string) => `${token} 9007199254740992 -`],
    ["a next ticket that is none", (token: string) => `${token} - inf`],
    ["a next ticket beyond 2^53", (token: string) => `${token} 5 9007199254740992`],
    ["no next ticket", (token: string) => `${token} 5`],
    ["four words", (token: string) => `${token} 5 5 5`],
    ["nothing", () => ""],
    ["a space", () => " "],
  ])("%s: it is no vote, and is told", async (_, message) => {
    const server = await startHostileServer(liar(() => undefined));
    const told: string[] = [];
    try {
      const client = fleet.open({ on: [server], client: { protocol: 3 } as object }).clients[0]!;
      const node = new RedisNode(connectionOf(client), {
        onFault: ({ reason }) => void told.push(reason),
      });
      const heard: unknown[] = [];
      const channel = `quorlock:inbox:${fresh()}`;
      await ask(node).listen(channel, (push) => void heard.push(push));
      push(channel, "honest.1 7 -");
      await until("it hears", () => heard.length === 1);
      push(channel, message("token.1"));
      push(channel, message("token.1"));
      push(channel, "honest.2 - 9");
      await until("it hears what follows", () => heard.length >= 2);
      expect(heard).toEqual([
        { is: "grant", token: "honest.1", counter: 7, nextTicket: Number.POSITIVE_INFINITY },
        { is: "grant", token: "honest.2", counter: undefined, nextTicket: 9 },
      ]);
      expect([...new Set(told)]).toEqual(["UNEXPECTED_REPLY"]);
    } finally {
      await server[Symbol.asyncDispose]();
    }
  });
});
