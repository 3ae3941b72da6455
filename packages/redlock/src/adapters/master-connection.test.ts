import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Done, Message } from "../redis/connection.ts";
import { Latch } from "../time/cancellation.ts";
import type { Driver, DriverEvents } from "./driver.ts";
import type { Link, LinkEvents } from "./link.ts";
import { MasterConnection } from "./master-connection.ts";

// PROTOCOL 2.16, 2.18.

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);

/** A link that is made, answered and lost when a test says so. */
class TestLink implements Link {
  isReady = false;
  isOver = false;
  readonly sent: Array<{ readonly words: string; readonly reply: (reply: unknown) => void }> = [];
  #events: LinkEvents | undefined;

  dial(events: LinkEvents): void {
    this.#events = events;
  }

  greet(): void {
    this.isReady = true;
    this.#events!.onReady();
  }

  lose(): void {
    this.isReady = false;
    this.#events!.onLost(new Error("lost"));
  }

  post({ command, args }: Message, done: Done): void {
    this.sent.push({ words: [command, ...args].join(" "), reply: done });
  }

  /** Answers INFO. */
  async says(server: string): Promise<void> {
    this.sent.pop()!.reply(infoOf(server));
    await settled();
  }

  async drop(): Promise<void> {
    this.end();
  }

  end(): void {
    this.isOver = true;
    this.isReady = false;
  }
}

type AskServer = NonNullable<Driver["askServer"]>;

const infoOf = (server: string): string => `run_id:${server}\r\ntcp_port:1\r\n`;

/** What the client says once a test resolves it. */
function later() {
  let resolve!: (info: string) => void;
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
}

/** A connection that is established to server "a", and the user's client, connected too. */
async function established(askServer: AskServer = () => Promise.resolve(undefined)) {
  const opened: TestLink[] = [];
  let events!: DriverEvents;
  const user = {
    client: {},
    name: "host:1",
    keyPrefix: "",
    isCluster: false,
    status: "ready",
    database: 0,
    asksServer: true,
    askServer,
    greetingTime: 1000,
    delayAfter: () => 0,
    open() {
      const link = new TestLink();
      opened.push(link);
      return link;
    },
    openSubscriber: () => {
      throw new Error("nothing subscribes");
    },
    watch: (its) => {
      events = its;
    },
    reconnectsOnError: () => false,
    isErrorReply: (error): error is Error => error instanceof Error,
    close: () => Promise.resolve(),
    disconnect: () => {},
  } satisfies Driver;
  const connection = new MasterConnection(user);
  // (The first one shows whether links can be made.)
  opened.shift();
  const [own] = opened as [TestLink];
  own.greet();
  await own.says("a");
  const sessions: number[] = [];
  connection.onReady(() => sessions.push(connection.session));
  const reconnect = (): void => events.onReady(true);
  return { connection, own, opened, sessions, reconnect };
}

test("a connection that is not there when its client reconnects is made again, and established once", async () => {
  const { connection, own, opened, sessions, reconnect } = await established();
  const { session } = connection;
  own.lose();
  reconnect();
  expect(opened).toHaveLength(2);
  opened[1]!.greet();
  await opened[1]!.says("b");
  expect(connection.serverIds).toEqual(["b"]);
  expect(sessions).toEqual([session + 1]);
  connection.disconnect();
});

test("one that is being made when its client reconnects is dropped, and dialed again", async () => {
  const { connection, own, opened, reconnect } = await established();
  own.lose();
  reconnect();
  reconnect();
  expect([opened.length, opened[1]!.isOver]).toEqual([3, true]);
  connection.disconnect();
});

test("while the client is asked where it leads, what was begun goes on, all else waits; at the same server it stays", async () => {
  const asked = later();
  const askServer = vi.fn<AskServer>().mockResolvedValueOnce(undefined).mockReturnValueOnce(asked.promise);
  const { connection, own, opened, sessions, reconnect } = await established(askServer);
  const before = connection.send("GET", ["before"]);
  reconnect();
  expect([connection.isReady, connection.isOpen]).toEqual([false, true]);
  const waiting = connection.connectFirst();
  own.sent[0]!.reply("answer");
  expect(await before).toBe("answer");
  asked.resolve(infoOf("a"));
  await waiting;
  expect([connection.isReady, opened.length, sessions]).toEqual([true, 1, []]);
  connection.disconnect();
});

test.each([
  ["is at another server", async () => infoOf("b")],
  ["does not say where it is", async () => undefined],
  ["fails to say it", () => Promise.reject(new Error("not now"))],
  ["does not answer in time", () => new Promise<undefined>(() => {})],
] satisfies Array<[string, AskServer]>)(
  "a connection whose client %s is replaced, once it has ended",
  async (_, answer) => {
    const { connection, own, opened, sessions, reconnect } = await established(
      vi.fn<AskServer>(answer).mockResolvedValueOnce(undefined),
    );
    const drop = new Latch();
    own.drop = () => drop.done;
    reconnect();
    const waiting = connection.connectFirst();
    await pass(0.1);
    expect([connection.isOpen, opened.length]).toEqual([false, 1]);
    drop.end();
    await settled();
    opened[1]!.greet();
    await opened[1]!.says("b");
    await pass(0.1);
    await waiting;
    expect([connection.isReady, connection.serverIds, sessions.length]).toEqual([true, ["b"], 1]);
    connection.disconnect();
  },
);

test("of two reconnects, only what the client says after the second one counts", async () => {
  const late = later();
  const asked = vi.fn<AskServer>().mockResolvedValueOnce(undefined).mockReturnValueOnce(late.promise);
  const { connection, opened, reconnect } = await established(asked.mockResolvedValue(infoOf("b")));
  reconnect();
  reconnect();
  late.resolve(infoOf("a"));
  await settled();
  expect([connection.isReady, opened.length]).toEqual([false, 2]);
  connection.disconnect();
});

test.each(["ended", "lost"])("a connection that was %s while in doubt is not used again", async (how) => {
  const asked = later();
  const askServer = vi.fn<AskServer>().mockResolvedValueOnce(undefined).mockReturnValueOnce(asked.promise);
  const { connection, own, reconnect } = await established(askServer);
  reconnect();
  if (how === "ended") connection.disconnect();
  else own.lose();
  asked.resolve(infoOf("a"));
  await settled();
  expect([connection.isReady, connection.isOpen]).toEqual([false, false]);
  connection.disconnect();
});

test("one that replaces a silent one, and is made again while that ends, is established once", async () => {
  const { connection, own, opened, sessions } = await established();
  const drop = new Latch();
  own.drop = () => drop.done;
  connection.send("GET", ["key"]).catch(() => {});
  await pass(2);
  const [, second] = opened as [TestLink, TestLink];
  second.greet();
  await second.says("b");
  second.sent.pop()!.reply("OK");
  await settled();
  second.sent.pop()!.reply("PONG");
  await expect.poll(() => connection.isOpen).toBe(false);
  second.lose();
  await pass(0);
  opened[2]!.greet();
  await opened[2]!.says("b");
  drop.end();
  await pass(0);
  expect([sessions.length, opened[2]!.sent]).toEqual([1, []]);
  connection.disconnect();
});

test("commands that wait for the link wait by one promise, which tens of thousands may do", async () => {
  const { connection, own, reconnect } = await established();
  own.lose();
  reconnect();
  const waiting = connection.connectFirst();
  expect(waiting).toBeInstanceOf(Promise);
  expect(connection.connectFirst()).toBe(waiting);
  connection.disconnect();
});
