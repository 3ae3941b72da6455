import type { Entry } from "../entries.ts";
import { ReplyError } from "../reply.ts";
import { type Rules, roundOf } from "./rules.ts";
import type { Call } from "./twin.ts";

/** How a family of locks keeps its claims: what differs in the scripts between `<<`, `||` and `>>`. */
export interface Family {
  /** The token that keeps `token` from the key, or its own. */
  ownerFor(key: string, token: string): string | null;
  /** The rest of that claim, as PTTL. */
  leftOf(key: string): number;
  /** Writes a claim that nothing is in the way of. */
  set(key: string, token: string, ttl: string): void;
  /** The key that a queue and a fencing counter belong to. */
  exclusive(key: string): string;
  /** Set if claims may be shared. */
  readonly shared: SharedClaims | undefined;
}

/** Whether a key belongs to a lock that may be shared. */
export function isSharable(key: string): boolean {
  return key.startsWith("quorlock:rw:");
}

/** Whether a key holds shared claims. */
export function isShared(key: string): boolean {
  return isSharable(key) && key.endsWith(":readers");
}

/** The key that a queue belongs to. */
export function exclusive(key: string): string {
  return isSharable(key) ? partOf(key, "write") : key;
}

/** The shared claims in a key: the name of each, and its expiry. */
export function membersOf(entry: Entry | undefined): ReadonlyArray<readonly [string, number]> {
  const value = entry?.value;
  const members = typeof value === "object" && "sorted" in value ? value.sorted : [];
  return members.map(({ name, score }) => [name, score] as const);
}

/** `ownerOf` in the scripts: a key of another type has an owner as well. */
export function ownerOf(call: Call, key: string): string | null {
  try {
    return call("GET", key) as string | null;
  } catch (error) {
    if (error instanceof ReplyError && error.message.startsWith("WRONGTYPE")) return "(no string)";
    throw error;
  }
}

/** Locks with one owner. */
export function exclusiveOnly(call: Call): Family {
  return {
    ownerFor: (key) => ownerOf(call, key),
    leftOf: (key) => call("PTTL", key) as number,
    set: (key, token, ttl) => void call("SET", key, token, "PX", ttl),
    exclusive: (key) => key,
    shared: undefined,
  };
}

/** `sharedClaims` in the scripts, function by function, in one call of the script. */
export class SharedClaims implements Family {
  readonly shared: SharedClaims = this;
  readonly #rules: Rules;
  readonly #call: Call;
  readonly #now: number;
  /** The readers' key that a claim has joined. */
  joined: string | undefined;

  constructor(rules: Rules, call: Call) {
    this.#rules = rules;
    this.#call = call;
    const [seconds, microseconds] = call("TIME") as readonly string[];
    this.#now = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  }

  isShared(key: string): boolean {
    return key.endsWith(":readers");
  }

  exclusive(key: string): string {
    return partOf(key, "write");
  }

  readers(key: string): string {
    return partOf(key, "readers");
  }

  ownerFor(key: string, token: string): string | null {
    const writer = ownerOf(this.#call, this.exclusive(key));
    if (this.isShared(key)) {
      if (writer !== null && (this.#rules.readerSeesWriter || writer === token)) return writer;
      return this.#readerOf(key, token).owner;
    }
    const last = writer === null && this.#rules.writerSeesReaders ? this.#lastReader(key) : undefined;
    if (!last) return writer;
    return this.#call("ZSCORE", partOf(key, "rounds"), last.name) === null ? "readers" : "readers.0";
  }

  leftOf(key: string): number {
    const left = this.#call("PTTL", this.exclusive(key)) as number;
    if (left !== -2) return left;
    const last = this.#lastReader(key);
    return last ? last.expiry - this.#now : -2;
  }

  set(key: string, token: string, ttl: string): void {
    if (this.isShared(key)) this.#admit(key, token, Number(ttl));
    else this.#call("SET", key, token, "PX", ttl);
  }

  join(key: string, token: string, ms: number): number {
    const writer = this.exclusive(key);
    const isWriter = this.#call("EXISTS", writer) === 1;
    const ttl = isWriter ? Math.max(ms, this.#call("PTTL", writer) as number) : ms;
    if (isWriter) this.#call("PEXPIRE", writer, String(ttl));
    const left = isWriter && !this.#rules.downgradeMakesReader ? ttl : this.#admit(key, token, ttl);
    if (isWriter) {
      this.#call("DEL", writer);
      this.joined = key;
    }
    return left;
  }

  drop(key: string, token: string): boolean {
    const writer = this.exclusive(key);
    let isDropped = false;
    if (this.isShared(key) && this.#rules.isMine(this.#readerOf(key, token).owner, token)) {
      const { name } = nameIn(token);
      isDropped = this.#call("ZREM", key, name) === 1;
      this.#call("ZREM", partOf(key, "rounds"), name);
    }
    if (this.#rules.isMine(ownerOf(this.#call, writer), token))
      isDropped = this.#call("DEL", writer) === 1 || isDropped;
    return isDropped;
  }

  dropAll(key: string, tokens: readonly string[]): boolean {
    return tokens.reduce((isDropped, token) => this.drop(key, token) || isDropped, false);
  }

  mark(key: string, name: string, ms: number): number {
    const marks = partOf(key, "marks");
    if (ms === 0 && !this.#rules.removesOwnMark) return this.#call("DEL", marks) as number;
    if (ms === 0) return this.#call("ZREM", marks, name) as number;
    const isNew = Number((this.#call("ZSCORE", marks, name) as string | null) ?? -1) < this.#now;
    const isInTheWay = ownerOf(this.#call, this.exclusive(key)) === null && this.#lastReader(key);
    if (isNew && !isInTheWay) return 0;
    this.#call("ZADD", marks, String(this.#now + ms), name);
    if ((this.#call("PTTL", marks) as number) < ms) this.#call("PEXPIRE", marks, String(ms));
    const [oldest = "", expiry] = this.#call("ZRANGE", marks, "0", "0", "WITHSCORES") as readonly string[];
    if (Number(expiry) < this.#now) this.#call("ZREM", marks, oldest);
    return 1;
  }

  /** The rest of the time of the last mark on the lock, ms. */
  markedFor(key: string): number | undefined {
    const marks = partOf(key, "marks");
    const [, expiry = "-1"] = this.#call("ZRANGE", marks, "-1", "-1", "WITHSCORES") as readonly string[];
    return Number(expiry) >= this.#now ? Number(expiry) - this.#now : undefined;
  }

  #readerOf(key: string, token: string): { readonly owner: string | null; readonly expiry: number } {
    const { name, round } = nameIn(token);
    const expiry = Number((this.#call("ZSCORE", key, name) as string | null) ?? -1);
    if (!this.#isAlive(expiry)) return { owner: null, expiry: 0 };
    if (round === undefined) return { owner: name, expiry };
    return {
      owner: `${name}.${(this.#call("ZSCORE", partOf(key, "rounds"), name) as string | null) ?? "0"}`,
      expiry,
    };
  }

  #lastReader(key: string): { readonly name: string; readonly expiry: number } | undefined {
    const readers = partOf(key, "readers");
    const [name = "", expiry = "-1"] = this.#call(
      "ZRANGE",
      readers,
      "-1",
      "-1",
      "WITHSCORES",
    ) as readonly string[];
    return this.#isAlive(Number(expiry)) ? { name, expiry: Number(expiry) } : undefined;
  }

  #isAlive(expiry: number): boolean {
    return this.#rules.readersExpireThemselves ? expiry >= this.#now : expiry >= 0;
  }

  #admit(key: string, token: string, ms: number): number {
    const { name, round } = nameIn(token);
    const rounds = partOf(key, "rounds");
    const own = this.#readerOf(key, token);
    const expiry = Math.max(this.#now + ms, own.expiry);
    if (own.owner !== null) {
      const lives = Math.max(this.#call("PTTL", key) as number, expiry - this.#now);
      this.#call("PEXPIRE", key, String(lives));
    }
    this.#call("ZADD", key, String(expiry), name);
    if (round !== undefined) this.#call("ZADD", rounds, round, name);
    for (const set of [key, rounds]) {
      const isShort = (this.#call("PTTL", set) as number) < expiry - this.#now;
      if (isShort || !this.#rules.readersExpireThemselves)
        this.#call("PEXPIRE", set, String(expiry - this.#now));
    }
    const oldest = this.#call("ZRANGE", key, "0", "3", "WITHSCORES") as readonly string[];
    for (let place = 0; place < oldest.length; place += 2) {
      if (this.#isAlive(Number(oldest[place + 1]))) continue;
      this.#call("ZREM", key, oldest[place]!);
      this.#call("ZREM", rounds, oldest[place]!);
    }
    return expiry - this.#now;
  }
}

function partOf(key: string, part: "write" | "readers" | "rounds" | "marks"): string {
  return key.replace(/:[A-Za-z]+$/, `:${part}`);
}

function nameIn(token: string): { readonly name: string; readonly round: string | undefined } {
  const own = roundOf(token);
  return own
    ? { name: own.waiter, round: token.slice(own.waiter.length + 1) }
    : { name: token, round: undefined };
}
