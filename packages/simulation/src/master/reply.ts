/** What a command comes to, as ioredis hands it on: RESP without the framing. */
export type Reply = string | number | null | readonly Reply[];

/** An error reply. Named as ioredis names it. */
export class ReplyError extends Error {
  override name = "ReplyError";
}

/** What every Redis says to a number it cannot read. */
export function notAnInteger(): ReplyError {
  return new ReplyError("ERR value is not an integer or out of range");
}

export function wrongType(): ReplyError {
  return new ReplyError("WRONGTYPE Operation against a key holding the wrong kind of value");
}
