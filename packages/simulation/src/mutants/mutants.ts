import { type Connection, type Runtime, releaseScript } from "@quorlock/redlock";
import type { Mutant } from "./mutant.ts";

/** Each must be found by the harness; one that survives is a failing test. */
export const mutants: readonly Mutant[] = [
  {
    name: "half of the masters are a quorum",
    file: "quorum.ts",
    line: "return Math.floor(members / 2) + 1;",
    instead: "return Math.ceil(members / 2);",
  },
  {
    name: "a minority is a quorum",
    file: "quorum.ts",
    line: "return Math.floor(members / 2) + 1;",
    instead: "return Math.max(1, Math.floor(members / 2));",
  },
  {
    name: "no drift is taken off",
    file: "validity.ts",
    line: "return sentAt + (ttl - expiryGrain) * (1 - driftFactor) - readingGrain;",
    instead: "return sentAt + ttl;",
  },
  {
    name: "the time is read when the reply comes, not before the send",
    file: "acquire.ts",
    line: "nodeDeadline(round.sentAt, ttl, settings.driftFactor)",
    instead: "nodeDeadline(clock.now(), ttl, settings.driftFactor)",
  },
  {
    name: "an extension counts from its reply",
    file: "confirm.ts",
    line: "nodeDeadline(round.sentAt, remaining, settings.driftFactor)",
    instead: "nodeDeadline(round.sentAt + round.timeout, remaining, settings.driftFactor)",
  },
  {
    name: "the hold lasts as long as its longest master",
    file: "validity.ts",
    line: "if (reached >= quorum && candidate > latest)",
    instead: "if (reached >= 1 && candidate > latest)",
  },
  {
    name: "a client uses one token for ever",
    file: "acquire.ts",
    line: "new RoundClaim(resources, newToken(runtime), ttl)",
    instead: "new RoundClaim(resources, ((runtime as any).onlyToken ??= newToken(runtime)), ttl)",
  },
  {
    name: "the deadline has no timer",
    file: "lease.ts",
    line: "this.#timer = this.coordinator.runtime.setTimer(() => this.#look(), delay);",
    instead: "this.#timer = this.coordinator.runtime.setTimer(() => {}, delay);",
  },
  {
    name: "a silent master is waited for",
    file: "round.ts",
    line: "this.#timer = plan.runtime.setTimer(() => this.#expire(this.sentAt + delay), delay);",
    instead: "this.#timer = plan.runtime.setTimer(() => void delay, delay);",
  },
  { name: "only the wall clock counts", runtime: (runtime) => withClocks(runtime, { monotonic: () => 0 }) },
  { name: "only the monotonic clock counts", runtime: (runtime) => withClocks(runtime, { wall: () => 0 }) },
  {
    name: "a vote overwrites whoever is there",
    connection: (connection) =>
      sending(connection, (command, args) =>
        connection.send(command, command === "SET" ? args.filter((arg) => arg !== "NX") : args),
      ),
  },
  {
    name: "a release deletes without comparing",
    connection: (connection) =>
      sending(connection, (command, args) =>
        args[0] === releaseScript.sha1
          ? connection.send("DEL", keysOf(args))
          : connection.send(command, args),
      ),
  },
  {
    name: "the key is set first and its expiry afterwards",
    connection: (connection) =>
      sending(connection, async (command, args) => {
        if (command !== "SET") return connection.send(command, args);
        const [key, token, , , ttl] = args;
        const reply = await connection.send("SET", [key!, token!, "NX"]);
        if (reply === "OK") await connection.send("PEXPIRE", [key!, ttl!]);
        return reply;
      }),
  },
];

type Send = Connection["send"];
type Args = Parameters<Send>[1];

/** `connection` with another way to send. */
function sending(connection: Connection, send: Send): Connection {
  return {
    name: connection.name,
    client: connection.client,
    get isReady() {
      return connection.isReady;
    },
    get obstacle() {
      return connection.obstacle;
    },
    connectFirst: () => connection.connectFirst(),
    send,
    isReply: (error): error is Error => connection.isReply(error),
    onReady: (listener) => connection.onReady(listener),
    close: () => connection.close(),
    disconnect: () => connection.disconnect(),
  };
}

function withClocks(runtime: Runtime, clocks: Partial<Pick<Runtime, "monotonic" | "wall">>): Runtime {
  return {
    monotonic: () => runtime.monotonic(),
    wall: () => runtime.wall(),
    randomBytes: (count) => runtime.randomBytes(count),
    setTimer: (callback, delay) => runtime.setTimer(callback, delay),
    ...clocks,
  };
}

function keysOf([, count, ...rest]: Args): Args {
  return rest.slice(0, Number(count));
}
