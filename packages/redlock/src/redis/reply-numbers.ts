// Every number that a master says is read here, or taken for no answer. Redlock is for masters that fail: one that says
// what cannot be (a proxy in between, a key that somebody else has written, a server of another kind) has no vote, and
// nothing of what it says is remembered.

/** Redis counts in 64 bits. */
const largestInteger = 2 ** 63;

function isWhole(value: unknown, least: number, most: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
}

/** A whole number in digits that JavaScript and Lua keep as it is, below 2^53; `undefined` for anything else. */
function digitsIn(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d{1,16}$/.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** What PTTL replies, as a time that is left, ms: -2 is no key, -1 a key without expiry. */
export function timeLeftIn(pttl: unknown): number | undefined {
  if (!isWhole(pttl, -2, largestInteger)) return undefined;
  return pttl === -1 ? Number.POSITIVE_INFINITY : Math.max(0, pttl);
}

/** How long a claim that was granted lives, ms: at least its ttl (PROTOCOL 2.12). */
export function claimedTimeIn(reply: unknown, ttl: number): number | undefined {
  if (reply === -1) return Number.POSITIVE_INFINITY;
  // (The parser of ioredis 6 reads the largest ttl as 2^53.)
  return isWhole(reply, ttl, 2 ** 53) ? reply : undefined;
}

/** How many there are of something. */
export function countIn(reply: unknown, most: number = Number.MAX_SAFE_INTEGER): number | undefined {
  return isWhole(reply, 0, most) ? reply : undefined;
}

/** A fencing counter, or a floor of them. */
export function counterIn(reply: unknown): number | undefined {
  return digitsIn(reply);
}

/** The largest ticket of a queue. */
export function ticketIn(reply: unknown): number | undefined {
  return digitsIn(reply);
}

/** What names a loss of memory; "" where there was none yet. */
export function epochIn(reply: unknown): string | undefined {
  return typeof reply === "string" && /^\d{0,16}$/.test(reply) ? reply : undefined;
}

/** What TIME replies, seconds and microseconds, in ms since the epoch. */
export function timeIn(reply: unknown): number | undefined {
  if (!Array.isArray(reply) || reply.length !== 2) return undefined;
  const [seconds, microseconds] = reply.map(digitsIn);
  if (seconds === undefined || microseconds === undefined || microseconds >= 1e6) return undefined;
  const time = seconds * 1000 + microseconds / 1000;
  return time <= Number.MAX_SAFE_INTEGER ? time : undefined;
}
