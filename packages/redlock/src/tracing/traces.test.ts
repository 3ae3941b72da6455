import { channel, subscribe, tracingChannel, unsubscribe } from "node:diagnostics_channel";
import { afterEach, describe, expect, test } from "vitest";
import type { RedlockOptions } from "../client.ts";
import { Gate, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";
import { channelNames, tracingChannelNames } from "./tracing.ts";

interface Heard {
  readonly event: string;
  readonly message: Readonly<Record<string, unknown>>;
}

const undo: Array<() => void> = [];
afterEach(() => {
  for (const one of undo.splice(0)) one();
});

/** Everything that is published from now on to the end of the test, as it was at that moment. */
function hear(): Heard[] {
  const heard: Heard[] = [];
  for (const name of Object.values(tracingChannelNames)) {
    const note = (event: string) => (message: object) =>
      void heard.push({ event: `${name.slice("quorlock:".length)} ${event}`, message: { ...message } });
    const events = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;
    const listeners = Object.fromEntries(events.map((event) => [event, note(event)])) as never;
    tracingChannel(name).subscribe(listeners);
    undo.push(() => tracingChannel(name).unsubscribe(listeners));
  }
  for (const name of Object.values(channelNames)) {
    const listener = (given: unknown): void => {
      const message = { ...(given as Heard["message"]) };
      // Clients of the tests before this one may still hear from their masters.
      const { master } = message;
      if (typeof master === "string" && !master.startsWith("master-")) return;
      heard.push({ event: name.slice("quorlock:".length), message });
    };
    subscribe(name, listener);
    undo.push(() => void unsubscribe(name, listener));
  }
  return heard;
}

const events = (heard: readonly Heard[], name: string): string[] =>
  heard.filter(({ event }) => event.startsWith(name)).map(({ event }) => event.slice(name.length + 1));
const last = (heard: readonly Heard[], event: string): Heard["message"] | undefined =>
  heard.findLast((one) => one.event === event)?.message;

/** Locks that are granted, extended, refused, released and lost. */
async function lifeOfLocks(): Promise<void> {
  const { time, masters, redlock } = virtualSetting(3);
  const lock = await time.run(redlock.acquire("r", 1000));
  await time.run(lock.extend(1000));
  await time.run(redlock.tryAcquire("r", 1000));
  await time.run(lock.release());
  await time.run(redlock.acquire("r", 1000));
  for (const master of masters) master.put("q", "rival");
  await expect(time.run(redlock.acquire("q", 1000, { retryCount: 1 }))).rejects.toThrow("locked");
  await time.advance(2000);
}

/** The channels that something is published on during that life, whether anybody listens or not. */
async function channelsOf(life: () => Promise<void>): Promise<readonly string[]> {
  const names = [
    ...Object.values(channelNames),
    ...Object.values(tracingChannelNames).flatMap((name) =>
      ["start", "asyncEnd"].map((event) => `tracing:${name}:${event}`),
    ),
  ];
  const used = new Set<string>();
  for (const name of names) {
    for (const method of ["publish", "runStores"] as const) {
      const own = channel(name);
      const original = Reflect.get(own, method) as (...given: unknown[]) => unknown;
      const value = (...given: unknown[]): unknown => {
        used.add(name);
        return Reflect.apply(original, own, given);
      };
      Object.defineProperty(own, method, { configurable: true, value });
    }
  }
  await life();
  for (const name of names)
    for (const method of ["publish", "runStores"]) Reflect.deleteProperty(channel(name), method);
  return names.filter((name) => used.has(name));
}

describe("the tracing channels", () => {
  test("tell the life of a lock in the order of Node's events", async () => {
    const heard = hear();
    const { time, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.advance(100);
    await time.run(lock.extend(1000));
    await time.run(lock.release());
    await time.advance(5);
    for (const name of ["acquire", "hold", "extend", "release"])
      expect(events(heard, name)).toEqual(["start", "end", "asyncStart", "asyncEnd"]);
    expect(last(heard, "acquire asyncEnd")).toEqual({
      resources: ["r"],
      ttl: 1000,
      waits: 0,
      outcome: "acquired",
      duration: 2,
    });
    expect(last(heard, "hold asyncEnd")).toEqual({
      resources: ["r"],
      ttl: 1000,
      outcome: "released",
      duration: 102,
    });
    const extension = last(heard, "extend asyncEnd")!;
    expect(extension).toMatchObject({ ttl: 1000, outcome: "extended", duration: 2 });
    // 1 % of drift, 2 ms for the clocks' resolution, and the round trips are taken off.
    expect(extension["margin"]).toBeGreaterThan(870);
    expect(extension["margin"]).toBeLessThan(900);
    expect(last(heard, "release asyncEnd")).toEqual({ resources: ["r"], outcome: "released", duration: 2 });
  });

  test("tell an acquire that stays refused, with the code alone and no error object", async () => {
    const heard = hear();
    const { time, masters, redlock } = virtualSetting(3);
    for (const master of masters) master.put("r", "rival-with-a-token");
    await expect(time.run(redlock.acquire("r", 1000, { retryCount: 2 }))).rejects.toThrow("locked");
    expect(events(heard, "acquire")).toEqual(["start", "end", "error", "asyncStart", "asyncEnd"]);
    const message = last(heard, "acquire asyncEnd")!;
    expect(message).toMatchObject({ outcome: "locked", errorCode: "RESOURCE_LOCKED", waits: 2 });
    expect(Object.keys(message)).not.toContain("error");
    expect(heard.filter(({ event }) => event === "refused").map(({ message }) => message["waits"])).toEqual([
      true,
      true,
      false,
    ]);
    expect(JSON.stringify(heard)).not.toContain("rival");
  });

  test.each([
    ["no_quorum", "NO_QUORUM"],
    ["aborted", "ABORTED"],
  ])("tell an acquire that ends as %s", async (outcome, errorCode) => {
    const heard = hear();
    const { time, nodes, redlock } = virtualSetting(3);
    for (const node of nodes) node.hang();
    const controller = new AbortController();
    const acquiring = redlock.acquire("r", 1000, { nodeTimeout: 50, signal: controller.signal });
    if (outcome === "aborted") controller.abort();
    await expect(time.run(acquiring)).rejects.toThrow();
    expect(last(heard, "acquire asyncEnd")).toMatchObject({ outcome, errorCode });
  });

  test("tell an acquire that its parent refuses", async () => {
    const { time, redlock } = virtualSetting(3, { reentrant: "handle" });
    const parent = await time.run(redlock.acquire("r", 1000));
    await time.run(parent.release());
    const heard = hear();
    await expect(time.run(redlock.acquire("r", 1000, { parent }))).rejects.toThrow("parent is released");
    expect(events(heard, "acquire")).toEqual(["start", "end", "error", "asyncStart", "asyncEnd"]);
    expect(last(heard, "acquire asyncEnd")).toMatchObject({ outcome: "aborted", errorCode: "LOCK_LOST" });
  });

  test("tell a lock that is resumed from the moment that a quorum confirms it", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    const detached = await time.run((await time.run(redlock.acquire("r", 1000))).detach());
    const heard = hear();
    for (const node of nodes) node.hang();
    const inVain = redlock.resume(detached).extend(1000, { nodeTimeout: 50, retryCount: 0 });
    await expect(time.run(inVain)).rejects.toThrow("No quorum");
    expect(events(heard, "hold")).toEqual([]);
    for (const node of nodes) node.resume();
    const lock = redlock.resume(detached);
    await time.run(Promise.all([lock.extend(1000), lock.verify()]));
    expect(events(heard, "hold")).toEqual(["start", "end"]);
    await time.run(lock.release());
    expect(last(heard, "hold asyncEnd")).toMatchObject({ resources: ["r"], outcome: "released" });
  });

  test("tell each master's answer, and why it gave none", async () => {
    const heard = hear();
    const { time, nodes, redlock } = virtualSetting(3);
    nodes[2]!.hang();
    await time.run(redlock.acquire("r", 1000, { nodeTimeout: 50 }));
    await time.advance(100);
    const answers = heard.filter(({ event }) => event === "answer").map(({ message }) => message);
    const vote = { operation: "vote", errorReason: undefined };
    expect(answers).toEqual([
      { master: "master-0", ...vote, duration: 2 },
      { master: "master-1", ...vote, duration: 2 },
      { master: "master-2", operation: "vote", duration: 50, errorReason: "TIMEOUT" },
    ]);
  });

  test("cost a lock that nobody listens to not one message", async () => {
    expect(await channelsOf(lifeOfLocks)).toEqual([]);
    hear();
    expect(await channelsOf(lifeOfLocks)).toHaveLength(11);
  });

  test("keep silent where nobody listens", async () => {
    const { time, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.advance(5);
    // The lock began unheard.
    const heard = hear();
    await time.advance(2000);
    expect(lock.state).toBe("lost");
    expect(heard.map(({ event }) => event)).toEqual(["lost"]);
  });
});

/** How the loss of a lock is told in all places, while `act` runs. */
async function lossOf(
  act: (setting: VirtualSetting) => Promise<unknown>,
  options: RedlockOptions = {},
): Promise<readonly unknown[]> {
  const heard = hear();
  const setting = virtualSetting(3, options);
  const losses: Array<readonly [string | undefined, boolean]> = [];
  setting.redlock.on("lost", (_, { reason, isFault }) => losses.push([reason, isFault]));
  await act(setting);
  const { reason, isFault } = last(heard, "lost")!;
  expect(losses).toEqual([[reason, isFault]]);
  return [reason, isFault, last(heard, "hold asyncEnd")!["outcome"]];
}

describe("a loss", () => {
  test("of a lock that nobody extends is no fault", async () => {
    const loss = lossOf(async ({ time, redlock }) => {
      await time.run(redlock.acquire("r", 1000));
      await time.advance(1000);
    });
    expect(await loss).toEqual(["EXPIRED", false, "expired"]);
  });

  test("is a fault if the masters do not confirm an extension", async () => {
    const loss = lossOf(async ({ time, nodes, redlock }) => {
      const gate = new Gate();
      const using = redlock.using("r", 1000, () => gate.opened);
      await time.advance(10);
      for (const node of nodes) node.hang();
      await time.advance(1000);
      gate.open();
      await time.run(using);
    });
    expect(await loss).toEqual(["NOT_CONFIRMED", true, "lost"]);
  });

  test("is a fault after a nested handle has ended, while the outer one is renewed", async () => {
    const loss = lossOf(
      async ({ time, machine, redlock }) => {
        const [inner, outer] = [new Gate(), new Gate()];
        const using = redlock.using("r", 1000, async (_, parent) => {
          await redlock.using("r", 1000, { parent }, () => inner.opened);
          await outer.opened;
        });
        await time.advance(10);
        inner.open();
        await time.advance(10);
        machine.block(2000);
        await time.advance(2000);
        outer.open();
        await time.run(using);
      },
      { reentrant: "handle" },
    );
    expect(await loss).toEqual(["NOT_CONFIRMED", true, "lost"]);
  });

  test("is not told of a lock that was detached", async () => {
    const heard = hear();
    const { time, redlock, lost } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.run(lock.detach());
    await time.advance(2000);
    expect(last(heard, "hold asyncEnd")).toMatchObject({ outcome: "detached" });
    expect(events(heard, "lost")).toEqual([]);
    expect(lost).toEqual([]);
  });
});
