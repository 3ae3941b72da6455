import {
  caught,
  errorTable,
  LuaError,
  numberText,
  one,
  type Result,
  Table,
  text,
  type Value,
} from "../lua/runtime.ts";
import { isStatus, type Reply, ReplyError } from "./reply.ts";

/** A script of Lua that was compiled. */
export type CompiledScript = (redis: RedisLibrary, keys: Table, args: Table) => Result;

/** `redis` in scripts. */
export type RedisLibrary = Readonly<Record<string, Value>>;

/** `execute`: a command of a script; an error reply is thrown. */
export function redisLibrary(execute: (command: string, args: readonly string[]) => Reply): RedisLibrary {
  const call = (name: Value, ...args: Value[]): Value => {
    const command = wordOf(name);
    const reply = execute(command, args.map(wordOf));
    return isStatus(command, reply) ? new Table().set("ok", reply as string) : inLua(reply);
  };
  return {
    call,
    pcall: (name, ...args) => {
      try {
        return call(name, ...args);
      } catch (error) {
        return caught(error);
      }
    },
    error_reply: (message) => errorTable(text(message).replace(/^-/, "")),
    // Every user of the model may run every command of a script.
    acl_check_cmd: () => true,
    replicate_commands: () => true,
    REDIS_VERSION_NUM: 0x00_07_02_00,
    // Replication is not modelled.
    set_repl: () => undefined,
    REPL_NONE: 0,
    REPL_ALL: 3,
  };
}

function wordOf(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return numberText(value, 17);
  throw new ReplyError("ERR Lua redis lib command arguments must be strings or integers");
}

function inLua(reply: Reply): Value {
  if (reply === null) return false;
  return typeof reply === "object" ? new Table(reply.map(inLua)) : reply;
}

/** Runs a script, and returns its reply. An error reply is thrown. */
export function runScript(
  script: CompiledScript,
  redis: RedisLibrary,
  keys: readonly string[],
  args: readonly string[],
): Reply {
  try {
    return replyOf(one(script(redis, new Table([...keys]), new Table([...args]))));
  } catch (error) {
    if (!(error instanceof LuaError)) throw error;
    const { value } = error;
    if (value instanceof Table) throw new ReplyError(text(value.get("err") ?? "ERR unknown error"));
    throw new ReplyError(`ERR ${text(value)}`);
  }
}

/** A number loses its fraction, and a table ends where it has nil. */
function replyOf(value: Value): Reply {
  if (value === undefined || value === false) return null;
  if (value === true) return 1;
  if (typeof value === "number") return Math.trunc(value);
  if (typeof value === "string") return value;
  if (!(value instanceof Table)) throw new Error("a script that replies a function is not modelled");
  const [error, status] = [value.get("err"), value.get("ok")];
  if (typeof error === "string") throw new ReplyError(error);
  if (typeof status === "string") return status;
  const end = value.items.indexOf(undefined);
  return (end < 0 ? value.items : value.items.slice(0, end)).map(replyOf);
}
