import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemRuntime } from "../time/system.ts";
import { Dials } from "./dials.ts";
import type { OwnClient, OwnEvents, UserClient, UserEvents } from "./own-client.ts";
import { OwnConnection } from "./own-connection.ts";

// PROTOCOL 2.16, 2.18.

/** Set where a connection of these tests runs: clients of the tests before them may set timers as well. */
const here = new AsyncLocalStorage<true>();
const timers = new Set<() => void>();
const setTimer = systemRuntime.setTimer.bind(systemRuntime);
beforeEach(() => {
  timers.clear();
  vi.spyOn(systemRuntime, "setTimer").mockImplementation((callback, delay) => {
    if (!here.getStore()) return setTimer(callback, delay);
    timers.add(callback);
    return { cancel: () => void timers.delete(callback), unref: () => {} };
  });
});
afterEach(() => vi.restoreAllMocks());

/** All timers that are set fire. */
async function passTime(): Promise<void> {
  for (const callback of [...timers]) {
    timers.delete(callback);
    here.run(true, callback);
  }
  await turn();
}

/** A client whose connections are made, answered and lost when a test says so. */
class TestClient implements OwnClient {
  readonly client = { status: "wait" };
  readonly sent: Array<{ readonly words: string; readonly reply: (reply: unknown) => void }> = [];
  readonly #events: OwnEvents;

  constructor(events: OwnEvents) {
    this.#events = events;
  }

  connect(): Promise<void> {
    this.dial();
    return Promise.resolve();
  }

  dial(): void {
    this.client.status = "connecting";
    this.#events.onDial();
  }

  greet(): void {
    this.client.status = "ready";
    this.#events.onReady();
  }

  lose(): void {
    this.client.status = "reconnecting";
    this.#events.onClose();
  }

  send(command: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((reply) => this.sent.push({ words: [command, ...args].join(" "), reply }));
  }

  /** Answers INFO. */
  async says(server: string): Promise<void> {
    this.sent.pop()!.reply(`run_id:${server}\r\n`);
    for (let turns = 0; turns < 10; turns += 1) await Promise.resolve();
  }

  cut(): void {
    this.lose();
  }

  drop(): void {
    this.client.status = "end";
    this.#events.onClose();
    this.#events.onEnd();
  }

  end(): void {
    this.drop();
  }
}

type AskServer = NonNullable<UserClient["askServer"]>;

/** A connection that is established to server "a", and the user's client, connected too. */
function established(askServer: AskServer = () => Promise.resolve(undefined)) {
  return here.run(true, () => establish(askServer));
}

async function establish(askServer: AskServer) {
  const opened: TestClient[] = [];
  const dials = new Dials(() => 0);
  let events!: UserEvents;
  const user = {
    client: {},
    name: "host:1",
    keyPrefix: "",
    isCluster: false,
    status: "ready",
    database: 0,
    asksServer: true,
    askServer,
    deliver: undefined,
    open(_, own) {
      const client = new TestClient(own);
      opened.push(client);
      return client;
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
  } satisfies UserClient;
  dials.ready();
  const connection = new OwnConnection(user);
  const [own] = opened as [TestClient];
  own.greet();
  await own.says("a");
  const sessions: number[] = [];
  connection.onReady(() => sessions.push(connection.session));
  const reconnect = (): void =>
    here.run(true, () => {
      dials.redial();
      dials.ready();
      events.onReady();
    });
  return { connection, own, opened, sessions, reconnect };
}

test("a connection that was lost is another one, which a second connection shows nothing about: it is established once", async () => {
  const { connection, own, opened, sessions, reconnect } = await established();
  const { session } = connection;
  own.lose();
  reconnect();
  const second = opened[1]!;
  own.dial();
  second.greet();
  own.greet();
  await second.says("a");
  await own.says("b");
  if (second.sent.length > 0) await second.says("a");
  expect(connection.serverIds).toEqual(["a"]);
  expect(sessions).toEqual([session + 1]);
  expect(own.client.status).toBe("end");
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
  await passTime();
  expect(connection.isReady).toBe(false);
  await passTime();
  expect(connection.isReady).toBe(true);
  connection.disconnect();
});

test("a connection that was ended while in doubt asks nothing more, and leaves no timer", async () => {
  const askServer = vi.fn(() => Promise.resolve(undefined));
  const { connection, reconnect } = await established(askServer);
  askServer.mockClear();
  reconnect();
  connection.disconnect();
  for (let seconds = 0; seconds < 2; seconds += 1) await passTime();
  expect(timers.size).toBe(0);
  expect(askServer).not.toHaveBeenCalled();
});

test("a connection in doubt gives up a second one that goes silent, and a third one shows where it leads", async () => {
  const { connection, opened, reconnect } = await established(() => new Promise(() => {}));
  reconnect();
  opened[1]!.greet();
  for (let seconds = 0; seconds < 2; seconds += 1) await passTime();
  // A slow server has its time.
  expect(opened).toHaveLength(2);
  for (let seconds = 0; seconds < 3; seconds += 1) await passTime();
  opened[2]!.greet();
  await opened[2]!.says("a");
  expect(connection.isReady).toBe(true);
  connection.disconnect();
});
