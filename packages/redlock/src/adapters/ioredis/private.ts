import type { Args } from "../../redis/connection.ts";
import { hasMethods, memberOf } from "../members.ts";

// All members of ioredis that are private by its types or comments. Each was tried on ioredis 5.0, 5.8, 5.11 and 6.0 and on
// iovalkey 0.4, and hidden once. Where one is missing, the public road is taken: test/contract/documented.ts.
//
// | member                | why                                       | public road                                 | fails without it                                               |
// | --------------------- | ----------------------------------------- | ------------------------------------------- | -------------------------------------------------------------- |
// | `stream`              | what is not delivered is dropped, at once | `disconnect`, up to `disconnectTimeout`     | silent-connections.deep "over at once, whatever is on its way" |
// | `manuallyClosing`     | disconnected between two dials: no "end"  | none; noticed when the client is used again | ended-clients, both of "between two attempts to connect"       |
// | `condition`           | the database after a SELECT               | that of the options, until the next SELECT  | database "that it selected", "while another command blocks"    |
// | `prevCondition`       | the same while it reconnects              | the same                                    | database "while ioredis 6 was reconnecting"                    |
// | `commandQueue`        | whether a SELECT was accepted             | each counts as accepted                     | database "is kept when the SELECT is refused"                  |
// | `offlineQueue`        | the same while it connects                | the same                                    | database "while ioredis 6 was connecting"                      |
// | `startupNodes`        | the address of a Cluster in its name      | "cluster"                                   | adapters/ioredis/driver "a connection is named by its address" |
// | `sendCommand`         | commands without promises                 | `call`                                      | adapters/ioredis/callback-command, hostile/secrets.deep        |
// | `Command#initPromise` | the same                                  | `call`                                      | adapters/ioredis/callback-command                              |

interface Private {
  readonly stream?: Stream | null;
  readonly manuallyClosing?: boolean;
  readonly condition?: Condition | null;
  readonly prevCondition?: Condition | null;
  readonly commandQueue?: CommandQueue;
  readonly offlineQueue?: CommandQueue;
  readonly startupNodes?: ReadonlyArray<object | string | number>;
}

/** As of `node:net`. */
interface Stream {
  readonly writableEnded: boolean;
  resetAndDestroy?(): void;
  destroy(): void;
}

interface Condition {
  readonly select?: number;
}

interface CommandQueue {
  peekBack?(): { readonly command: QueuedCommand } | undefined;
}

interface QueuedCommand {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly promise: Promise<unknown>;
}

function seen<Name extends keyof Private>(client: object, name: Name): Private[Name] {
  return memberOf(client, name) as Private[Name];
}

/** Closes the connection at once, and drops undelivered data where possible: only for TCP without TLS. */
export function cut(client: object): void {
  const stream = seen(client, "stream");
  if (!stream) return;
  // A reset fails while the stream is being shut down, and would leave it open for ever.
  if (stream.writableEnded || !stream.resetAndDestroy) {
    stream.destroy();
    return;
  }
  try {
    stream.resetAndDestroy();
  } catch {
    stream.destroy();
  }
}

/** Whether a client was disconnected, which emits no "end" between two attempts to connect. */
export function wasDisconnected(client: object): boolean {
  return seen(client, "manuallyClosing") === true;
}

/** The database that a client has selected, or is about to select again; `undefined` if that cannot be seen. */
export function selectedBy(client: object): number | undefined {
  return (seen(client, "prevCondition") ?? seen(client, "condition"))?.select;
}

/** The reply to the SELECT that was the latest command; `undefined` if that cannot be seen. */
export function selectReplyOf(client: object, database: number): Promise<unknown> | undefined {
  for (const name of ["commandQueue", "offlineQueue"] as const) {
    const command = seen(client, name)?.peekBack?.()?.command;
    if (command?.name === "select" && Number(command.args[0]) === database) return command.promise;
  }
  return undefined;
}

export function startupNodesOf(client: object): ReadonlyArray<object | string | number> {
  return seen(client, "startupNodes") ?? [];
}

/** The used part of an ioredis command. */
export interface Command {
  name: string;
  isTraced?: boolean;
  resolve: (reply: unknown) => unknown;
  reject: (error: unknown) => unknown;
  promise: unknown;
  args: unknown[];
  /** Called by its constructor. */
  initPromise(): void;
  stringifyArguments(): void;
  toWritable(stream: unknown): unknown;
  transformReply(reply: unknown): unknown;
}

export type CommandClass = new (
  name: string,
  args: Args,
  options: { readonly replyEncoding: "utf8"; readonly keyPrefix: string },
) => Command;

export interface SendingClient {
  sendCommand(command: object): unknown;
}

type Send = (this: unknown, command: object, ...rest: unknown[]) => unknown;

/** Keeps the commands of a client off the tracing channels of ioredis, which would show tokens and inboxes in replies. */
export function untrace(client: object): void {
  if (!hasMethods(client, "sendCommand")) return;
  const sending = client as { sendCommand: Send };
  const outer = sending.sendCommand.bind(client);
  const inner: Send =
    Object.getOwnPropertyDescriptor(client, "sendCommand")?.value ??
    Object.getPrototypeOf(client).sendCommand;
  sending.sendCommand = function (this: unknown, command: object, ...rest: unknown[]) {
    // A wrapper has this function written to what it wraps, and calls that in turn.
    const { isTraced } = command as Command;
    return isTraced
      ? inner.call(this, command, ...rest)
      : outer(Object.assign(command, { isTraced: true }), ...rest);
  };
}

/**
 * Finds the command class: it is not exported to clients, but `call` passes a command to `sendCommand`, which
 * is intercepted here. The method is that of the class, on an object that can send nothing: a wrapper binds its own to a client.
 */
export function commandClassOf(client: object): CommandClass | undefined {
  let taken: object | undefined;
  const sendCommand = (command: object): void => {
    taken = command;
  };
  try {
    const version = Object.getPrototypeOf(client) as { call(this: object, command: string): unknown };
    // (A tool that wraps it may return a promise.)
    void Promise.resolve(version.call.call({ options: {}, sendCommand }, "PING")).catch(() => {});
    // (A wrapper may hide the method.)
    return hasMethods(client, "sendCommand") ? (taken?.constructor as CommandClass) : undefined;
  } catch {
    return undefined;
  }
}
