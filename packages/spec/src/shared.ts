import type { Recording } from "@quorlock/simulation";
import { type Operation, operationsOf, waiterOf } from "./wire.ts";

type Event = Recording["events"][number];

const keyOf = /^(quorlock:rw:\{(.*)\}):(write|readers|rounds)$/s;
/** Of the readers of a lock those that may be the one of its trace. */
const firstReaders = 8;

/** A run in which a readers-writer lock is a plain one. */
export interface View {
  readonly resource: string;
  readonly events: readonly Event[];
  readonly operationsOf: typeof operationsOf;
}

/**
 * Each readers-writer lock of a run as the writers and one of its readers see it: of those at most one holds it (PROTOCOL 10.3),
 * so that it is a plain lock. A downgrade of another client is then a release (10.5). The seed draws the reader.
 */
export function sharedLocksIn({ events, plan }: Recording): readonly View[] {
  const claims = new Map<string, { readonly writers: Set<string>; readonly readers: Set<string> }>();
  for (const { verb, args } of events) {
    if (verb !== "sends") continue;
    const [, , command = "", ...rest] = args.map(String);
    for (const { key, token, does } of operationsOf(command, rest)) {
      const [, lock = "", , part = ""] = keyOf.exec(key) ?? [];
      if (part === "" || does === "delete") continue;
      const of = claims.get(lock) ?? { writers: new Set(), readers: new Set() };
      claims.set(lock, of);
      (part === "write" ? of.writers : of.readers).add(waiterOf(token).waiter);
    }
  }
  return [...claims].map(([lock, { writers, readers }]) => {
    const few = [...readers].slice(0, firstReaders);
    return new Projection(lock, writers, few[plan.seed % Math.max(1, few.length)] ?? "").view(events);
  });
}

interface Claims {
  writer?: string | undefined;
  reader?: string | undefined;
  round: string;
}

class Projection {
  readonly #lock: string;
  readonly #writers: ReadonlySet<string>;
  readonly #reader: string;
  readonly #claims = new Map<string, Claims>();
  readonly #downgraded = new Set<string>();
  /** The waiter of each hold. */
  readonly #holders = new Map<string, string>();
  readonly #events: Event[] = [];
  #hasRounds = false;

  constructor(lock: string, writers: ReadonlySet<string>, reader: string) {
    this.#lock = lock;
    this.#writers = writers;
    this.#reader = reader;
  }

  view(events: readonly Event[]): View {
    for (const event of events) this.#see(event);
    const seen = (command: string, args: readonly string[]): readonly Operation[] =>
      operationsOf(command, args).flatMap((operation) => this.#asSeen(operation));
    return { resource: this.#lock, events: this.#events, operationsOf: seen };
  }

  #partOf(key: string): string | undefined {
    const [, lock, , part] = keyOf.exec(key) ?? [];
    return lock === this.#lock ? part : undefined;
  }

  #asSeen(operation: Operation): Operation[] {
    const part = this.#partOf(operation.key);
    if (part === undefined) return [];
    const { waiter } = waiterOf(operation.token);
    const seen = { ...operation, key: this.#lock };
    if (part === "write" || waiter === this.#reader) return [seen];
    const outside: Operation = { does: "outside", key: this.#lock, token: "", ttl: 0, joins: true };
    if (!this.#writers.has(waiter)) return [outside];
    const stays = operation.does !== "delete";
    const given: Operation = { does: "delete", key: this.#lock, token: operation.token, ttl: 0, stays };
    // Released after its downgrade, it gives way as a reader.
    return operation.does === "delete" ? [given, outside] : [given];
  }

  #see(event: Event): void {
    const { verb, actor, args } = event;
    const [first = "", second = ""] = args.map(String);
    if (verb === "notes" || verb === "forgets") {
      const part = this.#partOf(first);
      if (part !== undefined) this.#write(event, part, verb === "notes" ? args : [first, "", "", second]);
    } else if (verb === "begins") {
      const { waiter } = waiterOf(second);
      const isSeen = waiter === this.#reader || (this.#writers.has(waiter) && !this.#downgraded.has(waiter));
      const isIts = String(args[2]).startsWith(`${this.#lock}:`);
      if (isIts && isSeen) this.#events.push({ ...event, args: [first, second, this.#lock] });
      if (isIts) this.#holders.set(`${actor} ${first}`, waiter);
    } else if (verb === "believes") {
      if (!this.#downgraded.has(this.#holders.get(`${actor} ${first}`) ?? "")) this.#events.push(event);
    } else {
      if (verb === "sends") this.#noteDowngrades(args.map(String));
      this.#events.push(event);
    }
  }

  #noteDowngrades([, , command = "", ...args]: readonly string[]): void {
    for (const { key, token } of operationsOf(command, args)) {
      if (this.#partOf(key) !== "readers") continue;
      const { waiter } = waiterOf(token);
      if (waiter !== this.#reader) this.#downgraded.add(waiter);
      else if (waiter !== token) this.#hasRounds = true;
    }
  }

  #write(event: Event, part: string, [, text = "", expiry = -1, sender = ""]: Event["args"]): void {
    const claims = this.#claims.get(event.actor) ?? { round: "0" };
    this.#claims.set(event.actor, claims);
    const say = (token: string | undefined, until: string): void => {
      const args = token === undefined ? [this.#lock, sender] : [this.#lock, token, until, sender];
      this.#events.push({ ...event, verb: token === undefined ? "drops" : "keeps", args });
    };
    if (part === "write") this.#writeExclusive(event.actor, claims, text, expiry, say);
    else if (this.#isNews(claims, part, String(text), Number(expiry))) {
      const token = this.#hasRounds ? `${this.#reader}.${claims.round}` : this.#reader;
      say(claims.reader === undefined ? undefined : token, claims.reader ?? "");
    }
  }

  #writeExclusive(
    master: string,
    claims: Claims,
    text: unknown,
    expiry: unknown,
    say: (token: string | undefined, until: string) => void,
  ): void {
    const former = claims.writer;
    claims.writer = text === "" ? undefined : String(text);
    if (claims.writer !== undefined) {
      // The claim of the reader, if there was one, had expired.
      if (waiterOf(claims.writer).waiter !== this.#reader) claims.reader = undefined;
      say(claims.writer, String(expiry));
      return;
    }
    // A downgrade of the reader: its claim as a reader takes the place of the key.
    if (claims.reader !== undefined && waiterOf(former ?? "").waiter === this.#reader) return;
    // A downgrade renews the key before it gives it up.
    const last = this.#events.at(-1);
    if (last?.verb === "keeps" && last.actor === master && last.args[1] === former) this.#events.pop();
    say(undefined, "");
  }

  /** Whether the claim of the reader is another than before. Its expiry is its own, within that of the set (PROTOCOL 10.3). */
  #isNews(claims: Claims, part: string, text: string, expiry: number): boolean {
    const own = text.split(",").find((member) => member.startsWith(`${this.#reader} `));
    const value = own?.slice(this.#reader.length + 1);
    if (part === "rounds") {
      if (value === undefined || value === claims.round) return false;
      claims.round = value;
      return claims.reader !== undefined;
    }
    const end = expiry < 0 ? Number(value) : Math.min(Number(value), expiry);
    const until = value === undefined ? undefined : String(end);
    if (until === claims.reader) return false;
    claims.reader = until;
    return true;
  }
}
