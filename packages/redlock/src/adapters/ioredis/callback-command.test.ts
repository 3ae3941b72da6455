import { Command as Command6, Redis } from "ioredis";
import { Command as Command5, Redis as Redis5 } from "ioredis-5";
import { describe, expect, test } from "vitest";
import type { Done } from "../../redis/connection.ts";
import { callbackCommandsOf, deliverBy } from "./callback-command.ts";

interface Command {
  isSent: boolean;
  toWritable(stream: null): unknown;
  resolve: (reply: unknown) => void;
  reject: (error: unknown) => void;
}

const versions = [
  ["6", () => new Redis({ lazyConnect: true }), Command6],
  ["5", () => new Redis5({ lazyConnect: true }), Command5],
] as const;

describe.each(versions)("ioredis %s", (_, open, AnyCommand) => {
  function made(done: Done, keyPrefix = "") {
    return callbackCommandsOf(open())!(
      { command: "SET", args: ["key", "value", "PX", 10] },
      keyPrefix,
      done,
    ) as Command;
  }

  test("an error of a tool that wraps sendCommand is the outcome", async () => {
    const outcomes: unknown[] = [];
    const broken = new Error("the tool is broken");
    const sendCommand = (): never => {
      throw broken;
    };
    const deliver = deliverBy({ sendCommand }, callbackCommandsOf(open())!, "");
    deliver({ command: "GET", args: ["key"] }, (reply, error) => outcomes.push([reply, error]));
    await Promise.resolve();
    expect(outcomes).toEqual([[undefined, broken]]);
  });

  test("a reply that cannot be read is an error", () => {
    const outcomes: unknown[] = [];
    const command = made((reply, error) => outcomes.push([reply, error]));
    const broken = new Error("the transformer is broken");
    const transformReply = (): never => {
      throw broken;
    };
    Object.assign(command, { isSent: true, transformReply });
    command.resolve(Buffer.from("OK"));
    expect(outcomes).toEqual([[undefined, broken]]);
  });

  test("tools that look at a command see its keys, and not the token behind them", () => {
    const make = callbackCommandsOf(open())!;
    const message = { command: "EVALSHA", args: ["digest", 2, "first", "second", "token", 1000] };
    for (let masters = 0; masters < 2; masters += 1) {
      const command = make(message, "app:", () => {}) as Command & { args: unknown[] };
      expect(command.args.map(String)).toEqual(["digest", "2", "app:first", "app:second", "?", "?"]);
      expect(String(command.toWritable(null))).toContain("token");
    }
  });

  test("a transformer that the application set for the replies to a command does not see theirs", () => {
    const client = open();
    AnyCommand.setReplyTransformer("getdel", () => "changed");
    const outcomes: unknown[] = [];
    const command = callbackCommandsOf(client)!({ command: "GETDEL", args: ["key"] }, "", (reply) =>
      outcomes.push(reply),
    );
    Object.assign(command, { isSent: true });
    (command as Command).resolve("as it was");
    expect(outcomes).toEqual(["as it was"]);
  });

  test("a version that makes commands in another way is left alone", () => {
    const client = open();
    class Other {
      readonly name = "PING";
    }
    const version = Object.create(client, {
      call: {
        value(this: { sendCommand(command: object): void }) {
          this.sendCommand(new Other());
        },
      },
    }) as object;
    const other = Object.create(version) as object;
    expect(callbackCommandsOf(other)).toBeUndefined();
    expect(callbackCommandsOf({})).toBeUndefined();
  });
});
