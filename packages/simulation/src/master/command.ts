/** The flags of Redis that the model asks for: `denyoom`, it may take more memory; `allow_busy`, beside a script that runs. */
export const flags = ["write", "denyoom", "allow_busy", "no_auth"] as const;

/** What Redis's own table says of a command. */
export interface RedisCommand {
  /** The number of its words, its name included; -n means at least n. */
  readonly arity: number;
  readonly flags: readonly string[];
  /** The first and the last argument that is a key, from 1; 0 for none, and a last one of -1 for all that follow. */
  readonly keyStart: number;
  readonly keyStop: number;
  readonly subcommands?: Readonly<Record<string, RedisCommand>>;
}
