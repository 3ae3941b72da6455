import { readFileSync } from "node:fs";
import clusterKeySlot from "cluster-key-slot";
import { describe, expect, test } from "vitest";
import type { RedlockOptions } from "../client.ts";
import { printable, ResourceLockedError, titleOf } from "../errors.ts";
import { maxUnanswered } from "../protocol/shared-reads.ts";
import { Redlock } from "../redlock.ts";
import { virtualSetting } from "../virtual-time.test.ts";
import { distinctNames, leastDistinct, quorumsIntersect } from "./membership.ts";
import { ownerKey, ownersKey, recordIn } from "./owner-record.ts";
import { version } from "./version.ts";

const list = (names: string) => names.split("").map((name) => ({ name, ids: [`id of ${name}`] }));
const anonymous = (names: string) => names.split("").map((name) => ({ name, ids: [] }));

test("the version in a record is that of package.json", () => {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  expect(version).toBe((JSON.parse(manifest) as { version: string }).version);
});

// PROTOCOL 1.13.
test.each([
  ["abc", "abc", true],
  ["abc", "abcd", true],
  ["abcd", "abcde", true],
  ["abc", "abcde", false],
  ["abc", "abd", false],
  ["abc", "def", false],
  ["abc", "ab", true],
  ["a", "ab", true],
  ["a", "b", false],
  ["abcde", "abcdefg", false],
])("clients of the masters %s and %s go together: %s", (one, other, isSafe) => {
  for (const [own, others] of [
    [one, other],
    [other, one],
  ] as const) {
    const distinct = leastDistinct(list(own), list(others));
    expect(distinct).toBe(new Set((own + others).split("")).size);
    expect(distinctNames(list(own), list(others))).toBe(distinct);
    expect(quorumsIntersect(own.length, others.length, distinct)).toBe(isSafe);
  }
});

test("two masters may be one unless both have ids and share none, and a master with a record may be any", () => {
  const renamed = [{ name: "x", ids: ["id of a"] }, ...list("bc")];
  expect(leastDistinct(list("abc"), renamed)).toBe(3);
  expect(leastDistinct(list("abc"), list("xyz"))).toBe(6);
  expect(leastDistinct(list("abc"), list("xyz"), (place) => place === 0)).toBe(5);
  // Nothing is known of x, which is a, b or c.
  expect(leastDistinct(list("abc"), [...anonymous("x"), ...list("yz")])).toBe(5);
  expect(leastDistinct(anonymous("abc"), list("xyz"))).toBe(3);
  expect(leastDistinct(anonymous("abc"), anonymous("abcde"))).toBe(5);
  // c is x, so that d takes y.
  expect(leastDistinct([...list("ab"), ...anonymous("c"), ...list("x")], list("abxy"))).toBe(4);
  // After a restart it has another id.
  expect(leastDistinct([{ name: "a", ids: ["old"] }], [{ name: "a", ids: ["new"] }])).toBe(1);
  // More records than masters are no more masters.
  expect(leastDistinct(list("abc"), anonymous("x"), () => true)).toBe(3);
});

test("a record that somebody else has written is read with care", () => {
  for (const text of [undefined, null, 1, "", "{", "[]", "null", "1", "{}", '{"name":1}', '{"name":""}'])
    expect(recordIn("01234567", text)).toBeUndefined();
  const odd = {
    name: "n".repeat(1000),
    host: 1,
    pid: "1",
    masters: [null, 1, { name: 5, ids: 7 }],
    locks: [{}],
  };
  expect(recordIn("01234567", JSON.stringify(odd))).toEqual({
    tag: "01234567",
    name: "n".repeat(200),
    host: "",
    pid: 0,
    version: "",
    writes: 0,
    ttl: 30_000,
    hasQuit: false,
    masters: [{ name: "", ids: [] }],
    locks: [{ resources: [], since: 0, fencingToken: undefined }],
  });
});

test("a record is in the slot of the index on a Cluster, with a keyPrefix as well", () => {
  expect([ownersKey(false), ownerKey("01234567", false)]).toEqual([
    "quorlock:owners",
    "quorlock:owner:01234567",
  ]);
  const [index, record] = [ownersKey(true), ownerKey("01234567", true)].map((key) =>
    clusterKeySlot(`app:${key}`),
  );
  expect(index).toBe(record);
});

test("a name comes into a message without terminal codes, line ends and changes of direction", () => {
  expect(printable("\u001b[31mred\n\u202e\u009b\u2028é")).toBe(
    "\\u{1b}[31mred\\u{a}\\u{202e}\\u{9b}\\u{2028}é",
  );
  expect(printable("x".repeat(200))).toBe(`${"x".repeat(100)}…`);
  const owner = { name: "bill\u001b]0;x\u0007", host: "a\r", pid: 31, tag: "01234567" };
  expect(titleOf(owner)).toBe("bill\\u{1b}]0;x\\u{7} (pid 31, host a\\u{d})");
  const error = new ResourceLockedError("invoice:42", 900, [], undefined, owner);
  expect(error.message).toBe(
    '"invoice:42" is locked by bill\\u{1b}]0;x\\u{7} (pid 31, host a\\u{d}), for at most 900 ms more [RESOURCE_LOCKED]',
  );
  expect(error.owner).toEqual(owner);
});

/** Masters that answer as a script of records does, or refuse. */
function recorded(options: RedlockOptions, answer: (command: string, index: number) => Promise<unknown>) {
  const setting = virtualSetting(3, options);
  const sent: { command: string; session: number; index: number }[] = [];
  const state = { session: 1 };
  for (const [index, node] of setting.nodes.entries())
    Object.defineProperty(node, "records", {
      get: () => ({
        session: state.session,
        isCluster: false,
        send: (command: string) => {
          sent.push({ command, session: state.session, index });
          return answer(command, index);
        },
      }),
    });
  const redlock = new Redlock(setting.nodes, { runtime: setting.machine, ...options });
  return { ...setting, redlock, sent, state };
}

test("a record is written each ten seconds from the first lock on, and its timer keeps no process alive", async () => {
  const { time, machine, redlock, sent } = recorded({ owner: "a" }, async () => [1, []]);
  await time.advance(60_000);
  expect(sent).toEqual([]);
  for (const resource of ["r", "s"])
    await time.run((await time.run(redlock.acquire(resource, 1000))).release());
  await time.advance(35_000);
  expect(sent.map(({ command }) => command)).toEqual(Array(12).fill("EVAL"));
  expect(machine.referencedTimers).toBe(0);
  await time.run(redlock.quit());
  expect(sent.length).toBe(15);
  await time.advance(60_000);
  expect(sent.length).toBe(15);
});

test("a call that waits has a record without a lock, one that does not wait has none", async () => {
  const { time, redlock, sent, masters } = recorded({ owner: "a" }, async () => [1, []]);
  for (const master of masters) master.put("r", "another", 60_000);
  await time.run(redlock.tryAcquire("r", 1000));
  expect(sent).toEqual([]);
  const waiting = redlock.acquire("r", 1000, { waitTimeout: 30_000 });
  await time.advance(5000);
  expect(sent.length).toBe(3);
  await expect(time.run(waiting)).rejects.toThrow(ResourceLockedError);
});

test("a write for which a right is missing is repeated on another connection only, and is no error event", async () => {
  const errors: unknown[] = [];
  const { time, redlock, sent, state } = recorded({ owner: "a" }, async () => {
    throw new Error("NOPERM this user has no permissions");
  });
  redlock.on("error", (error) => errors.push(error));
  await time.run(redlock.acquire("r", 1000));
  await time.advance(60_000);
  expect(sent.length).toBe(3);
  state.session = 2;
  await time.advance(60_000);
  expect(sent.map(({ session }) => session)).toEqual([1, 1, 1, 2, 2, 2]);
  expect(errors).toEqual([]);
});

test("a read that was refused is repeated on another connection only", async () => {
  const { time, redlock, sent, state } = recorded({ owner: "a" }, async (command) => {
    if (command === "GET") throw new Error("NOPERM");
    return [2, ["01234567"]];
  });
  await time.run(redlock.acquire("r", 1000));
  await time.advance(60_000);
  const reads = () => sent.filter(({ command }) => command === "GET").map(({ session }) => session);
  expect(reads()).toEqual([1, 1, 1]);
  state.session = 2;
  await time.advance(60_000);
  expect(reads()).toEqual([1, 1, 1, 2, 2, 2]);
});

/** The third master of three is silent on reads. */
function silentOnReads() {
  const setting = recorded({ owner: "a", nodeTimeout: 20 }, (command, index) =>
    command === "GET" && index === 2
      ? new Promise(() => {})
      : new Promise((resolve) =>
          setting.machine.receive(() => resolve(command === "GET" ? null : [1, []]), 2),
        ),
  );
  const reads = () =>
    [0, 1, 2].map(
      (place) => setting.sent.filter(({ command, index }) => command === "GET" && index === place).length,
    );
  return { ...setting, reads };
}

describe("a master that answers no read", () => {
  test("is sent a limited number of them, however many owners are asked about, and the others go on", async () => {
    const { redlock, time, reads } = silentOnReads();
    const internals = Redlock.internalsOf(redlock);
    const readAll = () =>
      time.run(
        Promise.all(
          Array.from({ length: 2000 }, (_, tag) => internals.ownersOf([tag.toString(16).padStart(8, "0")])),
        ),
      );
    await readAll();
    expect(reads()).toEqual([maxUnanswered, maxUnanswered, maxUnanswered]);
    await readAll();
    expect(reads()).toEqual([2 * maxUnanswered, 2 * maxUnanswered, maxUnanswered]);
  });

  test("is sent one for each owner that refuses calls, and another one on a new connection", async () => {
    const { redlock, masters, time, reads, state } = silentOnReads();
    for (const master of masters) master.put("r", `0123abcd${"*".repeat(24)}.1`);
    const refuse = async (): Promise<void> => {
      const calls = Array.from({ length: 20 }, () => redlock.acquire("r", 1000, { waitTimeout: 30 }));
      for (const { reason } of (await time.run(Promise.allSettled(calls))) as PromiseRejectedResult[])
        expect(reason).toBeInstanceOf(ResourceLockedError);
    };
    await refuse();
    await refuse();
    expect(reads()).toEqual([2, 2, 1]);
    state.session = 2;
    await refuse();
    expect(reads()).toEqual([3, 3, 2]);
  });
});

test("a write that a master leaves unanswered is not sent again", async () => {
  const { time, redlock, sent } = recorded({ owner: "a" }, () => new Promise(() => {}));
  await time.run(redlock.acquire("r", 1000));
  await time.advance(60_000);
  expect(sent.length).toBe(3);
});

test("nothing is written with owner: false, nor by default where the host is unknown", async () => {
  for (const options of [{ owner: false } as const, {}]) {
    const { time, redlock, sent } = recorded(options, async () => [1, []]);
    await time.run(redlock.acquire("r", 1000));
    await time.advance(60_000);
    expect(sent).toEqual([]);
  }
});

test.each([1, "", true, {}, "x".repeat(101)])("the owner %s is refused", (owner) => {
  const { nodes } = virtualSetting(3);
  expect(() => new Redlock(nodes, { owner: owner as string })).toThrow("owner must be a name");
});
