// Checks every number in a reply. Redlock assumes that masters fail. A reply with an impossible number (from
// a proxy in between, a key that another program wrote, a different kind of server) is not a vote, and
// nothing in it is stored (PROTOCOL 1.7, 13.3).

/** A reply that is not a valid answer to its command. */
export class UnexpectedReply extends Error {
  readonly reply: unknown;

  constructor(reply: unknown) {
    super("a reply that is not a valid answer to its command");
    this.reply = reply;
  }
}

/** Redis integers have 64 bits. */
const maxInteger = 2 ** 63;

function isIntegerWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
}

/**
 * A fencing counter or a ticket: an integer in decimal digits, below 2^53, which JavaScript and Lua represent exactly;
 * `undefined` for anything else.
 */
export function digitsIn(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d{1,16}$/.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** The remaining time in a PTTL reply, ms: 0 for -2 (no key), `Infinity` for -1 (no expiry). */
export function timeLeftIn(pttl: unknown): number | undefined {
  if (!isIntegerWithin(pttl, -2, maxInteger)) return undefined;
  return pttl === -1 ? Number.POSITIVE_INFINITY : Math.max(0, pttl);
}

/** The remaining time of a granted claim, ms: at least its ttl (PROTOCOL 2.12). */
export function claimedTimeIn(reply: unknown, ttl: number): number | undefined {
  if (reply === -1) return Number.POSITIVE_INFINITY;
  // Above 2^53 only even numbers are exact: so the expiry of a shared lock may be 1 ms earlier, and the parser of a
  // client library reads the largest ttl as 2^53.
  return isIntegerWithin(reply, ttl > 2 ** 52 ? ttl - 1 : ttl, 2 ** 53) ? reply : undefined;
}

/** A count, from 0 to `max`. */
export function countIn(reply: unknown, max: number = Number.MAX_SAFE_INTEGER): number | undefined {
  return isIntegerWithin(reply, 0, max) ? reply : undefined;
}

/** The identifier of a loss of memory; "" if there has been none. */
export function epochIn(reply: unknown): string | undefined {
  return typeof reply === "string" && /^\d{0,16}$/.test(reply) ? reply : undefined;
}

/** A TIME reply (seconds and microseconds), in ms since the epoch. */
export function timeIn(reply: unknown): number | undefined {
  if (!Array.isArray(reply) || reply.length !== 2) return undefined;
  const [seconds, microseconds] = reply.map(digitsIn);
  if (seconds === undefined || microseconds === undefined || microseconds >= 1e6) return undefined;
  const time = seconds * 1000 + microseconds / 1000;
  return time <= Number.MAX_SAFE_INTEGER ? time : undefined;
}
