import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemRuntime } from "../time/system.ts";
import { settle } from "../virtual-time.test.ts";
import { Dials } from "./dials.ts";
import type { OwnClient, OwnEvents, UserClient, UserEvents } from "./own-client.ts";
import { OwnConnection } from "./own-connection.ts";

// PROTOCOL 2.18.

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

async function passTime(): Promise<void> {
  for (const callback of [...timers]) {
    timers.delete(callback);
    here.run(true, callback);
  }
  await settle();
}

/** How a connection goes: a silent one is accepted, and its server "s" says nothing on it. */
type Fate = "accepted" | "silent" | "refused";

/** A client whose connections have these fates, and any further one is refused. */
class StubUser implements UserClient {
  readonly client = {};
  readonly name = "host:1";
  readonly keyPrefix = "";
  readonly isCluster = false;
  readonly status = "ready";
  readonly database = 0;
  readonly asksServer = true;
  readonly deliver = undefined;
  readonly dials = new Dials();
  readonly askServer: () => Promise<string | undefined>;
  readonly #fates: readonly Fate[];
  #events!: UserEvents;
  opened = 0;

  constructor(askServer: () => Promise<string | undefined>, fates: readonly Fate[]) {
    this.askServer = askServer;
    this.#fates = fates;
    this.dials.ready();
  }

  open(_: number | undefined, events: OwnEvents): OwnClient {
    const fate = this.#fates[this.opened] ?? "refused";
    this.opened += 1;
    const isAccepted = fate !== "refused";
    const client = { status: "wait" };
    const end = (): void => {
      client.status = "end";
    };
    const connect = async (): Promise<void> => {
      client.status = isAccepted ? "ready" : "connecting";
      events.onDial();
      if (isAccepted) events.onReady();
    };
    const answer = fate === "silent" ? new Promise(() => {}) : Promise.resolve("run_id:s");
    return { client, connect, send: () => answer, cut: () => {}, drop: end, end };
  }

  openSubscriber(): never {
    throw new Error("nothing is subscribed to");
  }

  watch(events: UserEvents): void {
    this.#events = events;
  }

  /** Perhaps to another server. */
  reconnect(): void {
    this.dials.redial();
    this.dials.ready();
    this.#events.onReady();
  }

  reconnectsOnError(): boolean {
    return false;
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof Error;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): void {}
}

interface Doubted {
  readonly connection: OwnConnection;
  readonly user: StubUser;
}

function inDoubt(
  askServer: () => Promise<string | undefined>,
  fates: readonly Fate[] = ["accepted"],
): Promise<Doubted> {
  return here.run(true, () => doubted(askServer, fates));
}

async function doubted(
  askServer: () => Promise<string | undefined>,
  fates: readonly Fate[],
): Promise<Doubted> {
  const user = new StubUser(askServer, fates);
  const connection = new OwnConnection(user);
  await settle();
  expect(connection.isReady).toBe(true);
  user.reconnect();
  expect(connection.isReady).toBe(false);
  return { connection, user };
}

test("a client that fails to say where it leads is asked again", async () => {
  const answers = [Promise.reject(new Error("not now")), Promise.resolve("s")];
  for (const answer of answers) answer.catch(() => {});
  const { connection } = await inDoubt(() => answers.shift()!);
  await passTime();
  expect(connection.isReady).toBe(false);
  await passTime();
  expect(connection.isReady).toBe(true);
});

test("a connection that was ended while in doubt asks nothing more, and leaves no timer", async () => {
  const askServer = vi.fn(() => Promise.resolve(undefined));
  const { connection } = await inDoubt(askServer);
  connection.disconnect();
  await passTime();
  await passTime();
  expect(timers.size).toBe(0);
  expect(askServer).not.toHaveBeenCalled();
});

test("a connection in doubt gives up a second one that goes silent, and a third one shows where it leads", async () => {
  const { connection, user } = await inDoubt(() => new Promise(() => {}), ["accepted", "silent", "accepted"]);
  for (let seconds = 0; seconds < 2; seconds += 1) await passTime();
  // A slow server has its time.
  expect(user.opened).toBe(2);
  for (let seconds = 0; seconds < 3; seconds += 1) await passTime();
  expect(connection.isReady).toBe(true);
  expect(user.opened).toBe(3);
});
