import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { claimScript, leaveScript, releaseScript } from "@quorlock/redlock/internal";
import { type EmbeddedMaster, startEmbeddedMasters, type WriteRefusal } from "@quorlock/simulation/embedded";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RefusingMaster, refusingConfig } from "./refusing-master.ts";

// The bytes that embedded masters write on a connection, compared with those of a real server.

const claim = [claimScript.sha1, "1", "lock"] as const;
const commands: readonly (readonly string[])[] = [
  ["PING"],
  ["ping", "text"],
  ["PING", "a", "b"],
  ["ECHO", "\u0000\u00ff\r\n"],
  ["ECHO"],
  ["SET", "k", "OK"],
  ["GET", "k"],
  ["SET", "k", "other", "NX"],
  ["SET", "k", "v", "px", "60000", "xx"],
  ["SET", "k", "v", "PX", "0"],
  ["SET", "k"],
  ["GET", "nothing"],
  ["GET"],
  ["EXISTS", "k", "k", "nothing"],
  ["PTTL", "nothing"],
  ["PEXPIRE", "k", "x"],
  ["DEL", "k", "nothing"],
  ["INCR", "count"],
  ["INCR", "k"],
  ["RPUSH", "list", "a"],
  ["INCR", "list"],
  ["GET", "list"],
  ["SCRIPT", "FLUSH"],
  ["EVALSHA", ...claim, "token", "60000", "1"],
  ["EVAL", claimScript.source, "1", "lock", "token", "60000", "1"],
  ["EVALSHA", ...claim, "rival", "60000", "0"],
  ["EVALSHA", claimScript.sha1, "1", "free", "token", "60000", "0"],
  ["EVALSHA", claimScript.sha1, "2", "free", "list", "token", "60000", "1"],
  ["EVALSHA", claimScript.sha1, "-1", "free"],
  ["EVALSHA", claimScript.sha1, "2", "free"],
  ["EVALSHA", claimScript.sha1],
  ["SCRIPT", "LOAD", releaseScript.source],
  ["SCRIPT", "EXISTS", claimScript.sha1, releaseScript.sha1, "0".repeat(40)],
  ["SCRIPT", "LOAD"],
  ["SCRIPT"],
  ["EVALSHA", releaseScript.sha1, "1", "lock", "token"],
  ["ZADD", "sorted", "2", "b", "1", "a"],
  ["ZADD", "sorted", "x", "a"],
  ["ZADD", "sorted"],
  ["ZRANGE", "sorted", "0", "-1"],
  ["ZRANGE", "sorted", "0"],
  ["ZCARD", "sorted"],
  ["ZREM", "sorted", "a", "c"],
  ["GET", "sorted"],
  ["PUBLISH", "channel", "no subscriber"],
  ["PUBLISH", "channel"],
  ["PUBSUB", "NUMSUB", "channel"],
  ["PUBSUB", "NONSENSE"],
  ["SUBSCRIBE"],
  ["UNSUBSCRIBE"],
  ["CLIENT", "GETNAME"],
  ["CLIENT", "SETNAME", "another-client"],
  ["CLIENT", "GETNAME"],
  ["CLIENT", "SETNAME"],
  ["CLIENT", "NONSENSE"],
  ["SELECT", "3"],
  ["SET", "in three", "v"],
  ["SELECT", "0"],
  ["GET", "in three"],
  ["SELECT", "16"],
  ["SELECT", "-1"],
  ["SELECT", "x"],
  ["SELECT"],
  ["FLUSHDB"],
  ["SELECT", "3"],
  ["GET", "in three"],
  ["FLUSHALL"],
  ["GET", "in three"],
  ["SELECT", "0"],
  ["AUTH", "a password without a user"],
  ["AUTH", "stranger", "x"],
  ["HELLO", "4"],
  ["HELLO", "x"],
  ["HELLO", "3", "NONSENSE"],
  ["CONFIG", "GET", "requirepass"],
  ["CONFIG", "GET", "no-such-setting"],
  ["CONFIG", "GET"],
  ["NONSENSE", "with", "argu\r\nments"],
  ["NONSENSE", "x".repeat(100), "y".repeat(100), "z"],
];

const protocols = ["2", "3"] as const;
const masters = new Map<string, { readonly port: number; readonly host: string }>();
let stop: (() => unknown)[] = [];
let refusing: RefusingMaster;
let embeddedMaster: EmbeddedMaster;

beforeAll(async () => {
  const real = await startMasters(1, { say: () => {}, config: refusingConfig });
  const embedded = await startEmbeddedMasters(1);
  const redis = new Redis(real.urls[0]!);
  stop = [() => redis.disconnect(), () => real.stop(), () => embedded.stop()];
  embeddedMaster = embedded.list[0]!;
  refusing = await RefusingMaster.of(redis);
  masters.set("real", real.list[0]!).set("embedded", embeddedMaster);
});

/** Both masters refuse to write from now on, or write again. */
async function refuseWrites(why: WriteRefusal | undefined): Promise<void> {
  await refusing.refuse(why);
  embeddedMaster.refuseWrites(why);
}

afterAll(() => Promise.all(stop.map((end) => end())));

/** A connection that says what came back for each packet: all that was written before the echo of a fence. */
class Wire {
  readonly #socket: Socket;
  #received = "";
  #fences = 0;

  constructor(name: "real" | "embedded") {
    const { port, host } = masters.get(name)!;
    this.#socket = connect(port, host).setEncoding("latin1");
    this.#socket.on("data", (text: string) => {
      this.#received += text;
    });
  }

  /** Bytes, and the fence behind them. */
  async ask(packet: string, pieces = 1): Promise<string> {
    this.#fences += 1;
    const fence = `fence ${this.#fences}`;
    const bytes = packet + framed(["ECHO", fence]);
    const size = Math.ceil(bytes.length / pieces);
    for (let at = 0; at < bytes.length; at += size) {
      this.#socket.write(bytes.slice(at, at + size), "latin1");
      if (pieces > 1) await new Promise(setImmediate);
    }
    const end = `$${fence.length}\r\n${fence}\r\n`;
    while (!this.#received.endsWith(end)) await once(this.#socket, "data");
    const reply = comparable(this.#received.slice(0, -end.length));
    this.#received = "";
    return reply;
  }

  /** Bytes, the last of which are answered with `word`. */
  async until(word: string, packet: string): Promise<string> {
    this.#socket.write(packet, "latin1");
    while (!this.#received.endsWith(`${word}\r\n`)) await once(this.#socket, "data");
    const reply = this.#received;
    this.#received = "";
    return reply;
  }

  /** All that comes until the server ends the connection. */
  async last(...packets: readonly string[]): Promise<string> {
    for (const packet of packets) {
      this.#socket.write(packet, "latin1");
      await new Promise(setImmediate);
    }
    await once(this.#socket, "close");
    return this.#received;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** Without what depends on the moment, and without the line of Lua that an error comes from. */
function comparable(reply: string): string {
  return reply.replaceAll(/:(?:5\d{4}|60000)\r/g, ":LEFT\r").replaceAll(/ script: [^\r]*/g, "");
}

function framed(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
}

test.each(protocols)("RESP%s: every command is answered with the same bytes", async (protocol) => {
  using real = new Wire("real");
  using embedded = new Wire("embedded");
  for (const wire of [real, embedded]) await wire.ask(framed(["HELLO", protocol]) + framed(["FLUSHALL"]));
  for (const words of commands) {
    const packet = framed(words);
    expect(await embedded.ask(packet), words.join(" ")).toBe(await real.ask(packet));
  }
});

test.each(protocols)("RESP%s: in one packet and cut anywhere", async (protocol) => {
  const packet = commands.map(framed).join("");
  const replies = async (name: "real" | "embedded", pieces: number): Promise<string> => {
    using wire = new Wire(name);
    await wire.ask(framed(["HELLO", protocol]) + framed(["FLUSHALL"]));
    return await wire.ask(packet, pieces);
  };
  const wanted = await replies("real", 1);
  for (const pieces of [1, 2, 7, packet.length]) expect(await replies("embedded", pieces)).toBe(wanted);
});

test.each(["OOM", "MISCONF", "NOREPLICAS", "READONLY"] as const)(
  "%s: what is refused, and what is not, is answered with the same bytes",
  async (why) => {
    using real = new Wire("real");
    using embedded = new Wire("embedded");
    const begin = [["FLUSHALL"], ["SET", "k", "v"], ["ZADD", "sorted", "2", "b", "1", "a"]];
    const known = [claimScript, releaseScript, leaveScript].map(({ source }) => ["SCRIPT", "LOAD", source]);
    const held = ["lock", "waited for"].map((key) => ["SET", key, "w1.1", "PX", "60000"]);
    const dead = ["ZADD", "quorlock:queue:{waited for}", "1", "a dead waiter"];
    const refused = [
      ...commands.filter(([name]) => name !== "AUTH" && name !== "HELLO"),
      ["EVALSHA", leaveScript.sha1, "1", "waited for", "w1.1"],
      ["PUBSUB", "NUMSUB", "a", "b"],
    ];
    await Promise.all(
      [real, embedded].map((wire) => wire.ask([...begin, ...known, ...held, dead].map(framed).join(""))),
    );
    await refuseWrites(why);
    try {
      for (const words of refused) {
        const packet = framed(words);
        expect(await embedded.ask(packet), words.join(" ")).toBe(await real.ask(packet));
      }
    } finally {
      await refuseWrites(undefined);
    }
    const packet = framed(["SET", "k", "v"]);
    expect(await embedded.ask(packet)).toBe(await real.ask(packet));
  },
);

/** The messages of a subscriber, up to its own last one: commands in between and messages of other clients. */
async function listened(name: "real" | "embedded", protocol: string): Promise<string> {
  using listener = new Wire(name);
  using other = new Wire(name);
  await listener.ask(framed(["HELLO", protocol]));
  const commands = [["SUBSCRIBE", "a", "b"], ["subscribe", "a"], ["GET", "k"], ["PING"], ["PING", "first"]];
  const begun = await listener.until("first", commands.map(framed).join(""));
  const counts = [
    await other.ask(framed(["PUBLISH", "a", "1"])),
    await other.ask(framed(["PUBLISH", "c", "2"])),
  ];
  const heard = await listener.until("second", framed(["PING", "second"]));
  const leaving = [["UNSUBSCRIBE", "a", "c"], ["UNSUBSCRIBE"], ["PUBLISH", "b", "3"], ["ECHO", "third"]];
  const ended = await listener.until("third", leaving.map(framed).join(""));
  const patterns = [
    ["PSUBSCRIBE", "*", "a[^b]?", "a\\*"],
    ["SUBSCRIBE", "abc"],
    ["PING", "fourth"],
  ];
  const matching = await listener.until("fourth", patterns.map(framed).join(""));
  for (const channel of ["a", "abc", "acc", "a*", "b"]) {
    counts.push(await other.ask(framed(["PUBLISH", channel, "4"])));
    counts.push(await other.ask(framed(["PUBSUB", "NUMSUB", channel])));
  }
  const last = [
    ["PUNSUBSCRIBE", "*"],
    ["PUNSUBSCRIBE"],
    ["PUNSUBSCRIBE"],
    ["UNSUBSCRIBE"],
    ["ECHO", "fifth"],
  ];
  // Of several patterns that match, a server tells in the order of a hash table.
  const matched = (await listener.until("fifth", last.map(framed).join(""))).split("pmessage").sort().join();
  return [begun, heard, ended, matching, matched, ...counts].join("|");
}

test.each(protocols)("RESP%s: a subscriber gets the same replies", async (protocol) => {
  const [ours, theirs] = await Promise.all([listened("embedded", protocol), listened("real", protocol)]);
  expect(ours).toBe(theirs);
  expect(ours).toContain("message");
});

test("HELLO returns the same fields in the same form, and INFO the names that clients look for", async () => {
  for (const protocol of protocols) {
    using real = new Wire("real");
    using embedded = new Wire("embedded");
    const [ours, theirs] = await Promise.all(
      [embedded, real].map(async (wire) => {
        const hello = await wire.ask(framed(["HELLO", protocol]));
        return hello.replace(/\$\d+\r\n\d+\.\d+\.\d+/, "VERSION").replace(/(id\r\n:)\d+/, "$1ID");
      }),
    );
    expect(ours).toBe(theirs);
    const info = await embedded.ask(framed(["INFO", "server"]));
    for (const field of ["redis_version", "run_id", "tcp_port", "process_id"]) {
      expect(info).toMatch(new RegExp(`\r\n${field}:[^\r]+\r\n`));
      expect(await real.ask(framed(["INFO", "server"]))).toContain(`\r\n${field}:`);
    }
  }
});

test("commands can be typed, and QUIT ends the connection", async () => {
  const typed = "PING\r\nSET k v\r\n\r\nGET k\nNONSENSE\r\nQUIT\r\nPING\r\n";
  using real = new Wire("real");
  using embedded = new Wire("embedded");
  expect(await embedded.last(typed)).toBe(await real.last(typed));
});

test("invalid protocol input ends the connection, with an error", async () => {
  for (const nonsense of ["*1\r\n:5\r\n", "*1\r\n?\r\n"]) {
    for (const packets of [
      [framed(["PING"]) + nonsense + framed(["PING"])],
      [framed(["PING"]) + nonsense, framed(["PING"])],
    ]) {
      using embedded = new Wire("embedded");
      expect(await embedded.last(...packets)).toMatch(/^\+PONG\r\n-ERR Protocol error[^\r]+\r\n$/);
    }
  }
});
