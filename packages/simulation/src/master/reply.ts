/** The reply to a command, as ioredis returns it: RESP without the framing. */
export type Reply = string | number | null | readonly Reply[];

/** The model does not distinguish a status from a string. A string "OK" can only be the reply of GET. */
export function isStatus(command: string, reply: Reply): boolean {
  const name = command.toUpperCase();
  return name === "TYPE" || (reply === "OK" && name !== "GET");
}

/** An error reply. Named as ioredis names it. */
export class ReplyError extends Error {
  override name = "ReplyError";
}

/** The error of every Redis for a number that it cannot parse. */
export function notAnInteger(): ReplyError {
  return new ReplyError("ERR value is not an integer or out of range");
}

export function wrongType(): ReplyError {
  return new ReplyError("WRONGTYPE Operation against a key holding the wrong kind of value");
}

/** While a script runs for long. */
export function busy(): ReplyError {
  return new ReplyError(
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
  );
}
