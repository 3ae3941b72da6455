import type { flags, RedisCommand } from "./command.ts";
import { commands } from "./commands.generated.ts";
import { ReplyError } from "./reply.ts";

const table: ReadonlyMap<string, RedisCommand> = new Map(Object.entries(commands));

export function hasFlag(command: string, flag: (typeof flags)[number]): boolean {
  return table.get(command.toLowerCase())?.flags.includes(flag) === true;
}

/** The keys that a command declares. */
export function keysIn(command: string, args: readonly (string | number)[]): readonly string[] {
  if (command.startsWith("EVAL")) return args.slice(2, 2 + Number(args[1])).map(String);
  const its = table.get(command.toLowerCase());
  const { keyStart, keyStop } = its?.subcommands?.[String(args[0]).toLowerCase()] ??
    its ?? { keyStart: 0, keyStop: 0 };
  return keyStart === 0 ? [] : args.slice(keyStart - 1, keyStop < 0 ? undefined : keyStop).map(String);
}

/** Throws where Redis would: the model assumes that every argument is present. */
export function checkArity([name = "", subcommand = ""]: readonly string[], words: number): void {
  const [command, action] = [name.toLowerCase(), subcommand.toLowerCase()];
  const its = table.get(command);
  check(command, its, words);
  check(`${command}|${action}`, its?.subcommands?.[action], words);
}

function check(name: string, { arity = -1 }: Partial<RedisCommand> = {}, words: number): void {
  if (arity < 0 ? words < -arity : words !== arity) throw wrongNumber(name);
}

export function wrongNumber(name: string): ReplyError {
  return new ReplyError(`ERR wrong number of arguments for '${name}' command`);
}
