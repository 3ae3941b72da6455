import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Done, Message } from "../redis/connection.ts";
import { Latch } from "../time/cancellation.ts";
import { Dials } from "./dials.ts";
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
    this.sent.pop()!.reply(`run_id:${server}\r\n`);
    for (let turns = 0; turns < 10; turns += 1) await Promise.resolve();
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

/** A connection that is established to server "a", and the user's client, connected too. */
async function established(askServer: AskServer = () => Promise.resolve(undefined)) {
  const opened: TestLink[] = [];
  const dials = new Dials(() => 0);
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
    dials,
    reconnectsOnError: () => false,
    isErrorReply: (error): error is Error => error instanceof Error,
    close: () => Promise.resolve(),
    disconnect: () => {},
  } satisfies Driver;
  dials.ready();
  const connection = new MasterConnection(user);
  // (The first one shows whether links can be made.)
  opened.shift();
  const [own] = opened as [TestLink];
  own.greet();
  await own.says("a");
  const sessions: number[] = [];
  connection.onReady(() => sessions.push(connection.session));
  const reconnect = (): void => {
    dials.redial();
    dials.ready();
    events.onReady();
  };
  return { connection, user, own, opened, sessions, reconnect };
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

test("what is sent on a connection in doubt goes out in its order once it is trusted, and not before", async () => {
  const { connection, own, opened, reconnect } = await established();
  reconnect();
  expect([connection.isReady, connection.isOpen]).toEqual([false, true]);
  const replies = ["1", "2"].map((key) => connection.send("GET", [key]));
  expect(own.sent).toEqual([]);
  const second = opened[1]!;
  second.greet();
  await second.says("a");
  expect(own.sent.map(({ words }) => words)).toEqual(["GET 1", "GET 2"]);
  for (const [index, { reply }] of own.sent.entries()) reply(index);
  expect(await Promise.all(replies)).toEqual([0, 1]);
  connection.disconnect();
});

test.each(["lost", "replaced"])(
  "what is sent on a connection in doubt is rejected if that is %s",
  async (how) => {
    const { connection, own, opened, reconnect } = await established();
    reconnect();
    const reply = connection.send("GET", ["key"]).catch((error: Error) => error.name);
    const second = opened[1]!;
    if (how === "lost") own.lose();
    else {
      second.greet();
      await second.says("b");
    }
    expect(await reply).toBe("NotSent");
    expect(own.sent).toEqual([]);
    connection.disconnect();
  },
);

test("a client that fails to say where it leads is asked again", async () => {
  const askServer = vi.fn<() => Promise<string | undefined>>().mockResolvedValue("run_id:a\r\n");
  const { connection, reconnect } = await established(askServer);
  askServer.mockRejectedValueOnce(new Error("not now"));
  reconnect();
  await pass(1);
  expect(connection.isReady).toBe(false);
  await pass(1);
  expect(connection.isReady).toBe(true);
  connection.disconnect();
});

test("a connection that was ended while in doubt asks nothing more", async () => {
  const askServer = vi.fn(() => Promise.resolve(undefined));
  const { connection, reconnect } = await established(askServer);
  askServer.mockClear();
  reconnect();
  connection.disconnect();
  await pass(2);
  expect(askServer).not.toHaveBeenCalled();
});

test("a connection in doubt gives up a second one that goes silent, and a third one shows where it leads", async () => {
  const askServer = vi.fn<AskServer>(() => new Promise(() => {})).mockResolvedValueOnce(undefined);
  const { connection, opened, reconnect } = await established(askServer);
  reconnect();
  opened[1]!.greet();
  await pass(2);
  // A slow server has its time.
  expect(opened).toHaveLength(2);
  await pass(3);
  opened[2]!.greet();
  await opened[2]!.says("a");
  expect(connection.isReady).toBe(true);
  connection.disconnect();
});

test("a second one that cannot be opened, and that its client would not dial again, is none", async () => {
  const { connection, user, reconnect } = await established();
  vi.spyOn(user, "delayAfter").mockReturnValue(undefined as never);
  vi.spyOn(user, "open").mockImplementation(() => {
    throw new Error("refused");
  });
  reconnect();
  const reply = connection.send("GET", ["key"]).catch((error: Error) => error.name);
  await pass(1);
  expect([connection.isOpen, await reply]).toEqual([false, "NotSent"]);
});

test("one that is lost, and ready again, while the one that it replaces ends is established once", async () => {
  const { connection, own, opened, sessions, reconnect } = await established();
  const drop = new Latch();
  own.drop = () => drop.done;
  reconnect();
  opened[1]!.greet();
  await opened[1]!.says("b");
  opened[1]!.lose();
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
