import { ExecutionError, type NodeError } from "@quorlock/redlock";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fleet, fresh, rejection, timed, votesOf } from "../integration/fleet/fleet.ts";
import { type Answer, type HostileServer, startHostileServer } from "./hostile-server.ts";

// PROTOCOL 1.7, 13.3.

// Three masters, and servers in the place of two or three more that answer with what is no answer.
let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start(3);
});
afterAll(() => fleet?.stop());

const ttl = 20_000;
/** Waited for in full where a master says nothing; a busy machine has to connect in it. */
const nodeTimeout = 2500;
/** The node time-out where all masters reply: long enough for a busy machine, and never waited for in full. */
const patience = 8000;
/** The time a busy machine may add to a time-out, ms. */
const slack = 2000;

/** By the reason that is told: understood, but no answer to what was asked. */
const unexpected: Record<string, Answer> = {
  "another simple string": "+QUEUED\r\n",
  "an empty simple string": "+\r\n",
  "a number": ":1\r\n",
  "a number that is none": ":abc\r\n",
  "the largest number of 64 bits": ":9223372036854775807\r\n",
  "a number beyond 64 bits": ":99999999999999999999999\r\n",
  "a bulk string": "$3\r\nabc\r\n",
  "an empty bulk string": "$0\r\n\r\n",
  "an empty array": "*0\r\n",
  "a null array": "*-1\r\n",
  "an array of nulls": "*3\r\n$-1\r\n$-1\r\n$-1\r\n",
  "a negative bulk length": "$-7\r\n",
  "a negative array length": "*-7\r\n",
  "a refusal for a resource that was not asked for": "*3\r\n:7\r\n$3\r\nabc\r\n:1000\r\n",
  "a refusal for a resource beyond 64 bits": "*3\r\n:18446744073709551617\r\n$3\r\nabc\r\n:1000\r\n",
  "a refusal without a time": "*3\r\n:1\r\n$3\r\nabc\r\n$4\r\nsoon\r\n",
  "a yes without a time": "*2\r\n:0\r\n$-1\r\n",
  "an array of arrays": "*1\r\n*1\r\n*1\r\n:0\r\n",
  "a RESP3 null": "_\r\n",
  "a RESP3 boolean": "#t\r\n",
  "a RESP3 double": ",inf\r\n",
  "a RESP3 big number": "(3492890328409238509324850943850943825024385\r\n",
  "a RESP3 map": "%1\r\n+a\r\n:1\r\n",
  "a RESP3 set": "~2\r\n:9\r\n:5000\r\n",
  "a RESP3 verbatim string": "=10\r\ntxt:nobody\r\n",
};

/** An unreadable reply ends the connection, if the server does not. */
const broken: Record<string, Answer> = {
  "no protocol at all": "HTTP/1.1 400 Bad Request\r\n\r\n",
  "binary noise": Buffer.from(Array.from({ length: 256 }, (_, byte) => (byte * 7919) % 256)),
  "an empty line": "\r\n",
  "an array length beyond all": "*99999999999\r\n:0\r\n",
  "5000 arrays in one another": `${"*1\r\n".repeat(5000)}:0\r\n`,
  "the end of the connection": (socket) => void socket.end(),
  "a reset of the connection": (socket) => void socket.resetAndDestroy(),
  "half a reply, then the end": (socket) => void socket.end("$10\r\nab"),
  "half an array, then the end": (socket) => void socket.end("*3\r\n:1\r\n$3\r\n"),
};

const unfinished: Record<string, Answer> = {
  "nothing, for ever": () => {},
  "half a reply": "$10\r\nabc",
  "half a line": "+O",
  "a bulk length of 1 GB": "$1073741824\r\nabc",
  "a bulk length beyond 32 bits": "$99999999999\r\nabc",
  "a bulk length that is none": "$abc\r\n",
  "an array length of 1 G": "*1073741824\r\n:0\r\n",
  "the largest array length": "*2147483647\r\n:0\r\n",
  "a RESP3 push": ">2\r\n+message\r\n+x\r\n",
  "one byte at a time, and too slowly": drip("+OK\r\n"),
};

/** Errors: the reason is the word that they begin with. */
const errors: Record<string, Record<string, Answer>> = {
  NOSCRIPT: { "NOSCRIPT, also to the script itself": "-NOSCRIPT No matching script\r\n" },
  NONSENSE: { "a RESP3 bulk error": "!10\r\nNONSENSE x\r\n" },
  ERR: {
    "an empty error": "-\r\n",
    "an error without a word": "- something is wrong\r\n",
    "an error in small letters": "-oops something is wrong\r\n",
  },
};

/** A byte after each half of a nodeTimeout. */
function drip(reply: string): Answer {
  return (socket) => {
    let sent = 0;
    const timer = setInterval(() => {
      if (socket.writable && sent < reply.length) socket.write(reply[sent]!);
      else clearInterval(timer);
      sent += 1;
    }, nodeTimeout / 2);
    timer.unref();
  };
}

const hostilities: readonly (readonly [what: string, reason: string, answer: Answer])[] = Object.entries({
  UNEXPECTED_REPLY: unexpected,
  UNREACHABLE: broken,
  TIMEOUT: unfinished,
  ...errors,
}).flatMap(([reason, answers]) =>
  Object.entries(answers).map(([what, answer]) => [what, reason, answer] as const),
);

const startHostile = (count: number, answer: Answer, greets = true): Promise<HostileServer[]> =>
  Promise.all(Array.from({ length: count }, () => startHostileServer(answer, { greets })));

async function stopAll(servers: readonly HostileServer[]): Promise<void> {
  for (const server of servers) await server[Symbol.asyncDispose]();
}

const timeoutFor = (reason: string): number => (reason === "TIMEOUT" ? nodeTimeout : patience);
const nameOf = ({ host, port }: HostileServer): string => `${host}:${port}`;

/** Two of five masters are hostile: they have no vote, the error names the reason, and no call waits for them. */
async function minority(hostile: readonly HostileServer[], reason: string, protocol: 2 | 3): Promise<void> {
  const opened = fleet.open({
    on: [...fleet.masters, ...hostile],
    nodeTimeout: timeoutFor(reason),
    client: { protocol },
  });
  const { redlock, clients, errors: told } = opened;
  for (const resources of [[fresh()], [fresh(), fresh()]]) {
    const isFirst = told.length === 0;
    const lock = await redlock.acquire(resources, ttl);
    // A TIMEOUT is emitted after the time-out: the call has not waited for that.
    if (isFirst) expect(told.filter((error) => error.reason === "TIMEOUT")).toEqual([]);
    const stats = (await Promise.all(lock.attempts)).at(-1)!;
    expect(votesOf(clients, stats)).toEqual([true, true, true, false, false]);
    await lock.extend(ttl);
    expect(await lock.verify()).toBe(true);
    expect((await lock.release()).outcome).toBe("released");
  }
  const inspections = await redlock.inspect(fresh());
  expect(inspections.slice(0, 3).map(({ unreachable }) => unreachable)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  for (const server of hostile) {
    const ofIt = told.filter(({ node }) => node === nameOf(server));
    expect(ofIt[0]).toMatchObject({ name: "NodeError", code: "NODE", reason });
    // Later ones may meet the connection that was ended for the first.
    for (const error of ofIt) expect([reason, "UNREACHABLE", "UNEXPECTED_REPLY"]).toContain(error.reason);
  }
  expect(told.filter(({ node }) => !hostile.some((server) => nameOf(server) === node))).toEqual([]);
}

/** Three of five are hostile: no quorum, told in time and by name. */
async function majority(hostile: readonly HostileServer[], reason: string, protocol: 2 | 3): Promise<void> {
  const { redlock, clients } = fleet.open({
    on: [...fleet.masters.slice(0, 2), ...hostile],
    nodeTimeout: timeoutFor(reason),
    retryCount: 0,
    client: { protocol },
  });
  const { result: error, net } = await timed(() => rejection(redlock.acquire(fresh(), ttl)));
  expect(error).toBeInstanceOf(ExecutionError);
  expect(error).toMatchObject({ code: "NO_QUORUM" });
  expect(net).toBeLessThan(reason === "TIMEOUT" ? nodeTimeout + slack : patience);
  for (const server of hostile) expect((error as Error).message).toContain(`${nameOf(server)}: ${reason}`);
  const [stats] = await Promise.all((error as ExecutionError).attempts);
  for (const client of clients.slice(2)) {
    expect((stats!.votesAgainst.get(client) as NodeError).reason).toBe(reason);
  }
}

describe.each([2, 3] as const)("masters that speak RESP%i and answer with", (protocol) => {
  describe.each([
    ["two of five", 2, minority],
    ["three of five", 3, majority],
  ] as const)("from %s,", (_from, count, judge) => {
    it.concurrent.each(hostilities)("%s: %s, in time", async (_, reason, answer) => {
      const hostile = await startHostile(count, answer);
      try {
        await judge(hostile, reason, protocol);
      } finally {
        await stopAll(hostile);
      }
    });
  });
});

/** Answers from the first byte on: no connection ever stands. A client library tells the end of one, or nothing. */
const greetings: readonly (readonly [string, RegExp, Answer])[] = [
  ["accepts and says nothing", /^TIMEOUT$/, () => {}],
  ["speaks no protocol", /^UNREACHABLE$/, "HTTP/1.1 400 Bad Request\r\n\r\n"],
  ["greets one byte at a time, and never all", /^TIMEOUT$/, "$100\r\nabc"],
  ["ends each connection", /^UNREACHABLE$/, (socket) => void socket.end()],
  ["resets each connection", /^UNREACHABLE$/, (socket) => void socket.resetAndDestroy()],
  ["answers each greeting with an error", /^(UNREACHABLE|ERR)$/, "-ERR go away\r\n"],
];

describe("a master that from the first byte on", () => {
  it.concurrent.each(greetings)("%s: %s, and the others' quorum works", async (_, reason, answer) => {
    const hostile = await startHostile(3, answer, false);
    try {
      const open = { nodeTimeout, retryCount: 0 };
      const few = fleet.open({ ...open, on: [...fleet.masters, ...hostile.slice(0, 2)] });
      const lock = await few.redlock.acquire(fresh(), ttl);
      const [stats] = await Promise.all(lock.attempts);
      expect(votesOf(few.clients, stats!)).toEqual([true, true, true, false, false]);
      for (const client of few.clients.slice(3)) {
        expect((stats!.votesAgainst.get(client) as NodeError).reason).toMatch(reason);
      }
      expect((await lock.release()).outcome).toBe("released");

      const many = fleet.open({ ...open, on: [...fleet.masters.slice(0, 2), ...hostile] });
      const { result: error, net } = await timed(() => rejection(many.redlock.acquire(fresh(), ttl)));
      expect(error).toMatchObject({ code: "NO_QUORUM" });
      expect(net).toBeLessThan(nodeTimeout + slack);
      for (const server of hostile) expect((error as Error).message).toContain(`${nameOf(server)}: `);
    } finally {
      await stopAll(hostile);
    }
  });
});
