import type { Keyspace } from "./keyspace.ts";
import { ReplyError } from "./reply.ts";

/**
 * The hash slot of all locks, on its way from one master of a Cluster to another, key by key (PROTOCOL 12.6). Clients follow a
 * redirection at once: a command runs where all of its declared keys are, and is refused if they are on both.
 */
export class MovingSlot {
  readonly source: Keyspace;
  readonly target: Keyspace;
  readonly #order: (key: string) => number;

  /** `order`: keys with smaller numbers move first. */
  constructor(source: Keyspace, target: Keyspace, order: (key: string) => number) {
    this.source = source;
    this.target = target;
    this.#order = order;
  }

  /** Where a command with these keys runs. */
  placeOf(keys: readonly string[], now: number): Keyspace {
    const all = [...new Set(keys)];
    const here = all.filter((key) => this.source.get(key, now));
    if (here.length === all.length) return this.source;
    const isThere = here.length === 0 && all.every((key) => this.target.get(key, now));
    if (isThere || (here.length === 0 && all.length === 1)) return this.target;
    throw new ReplyError("TRYAGAIN Multiple keys request during rehashing of slot");
  }

  /** Moves a key, and returns its name; `isThere`: the other master has one of that name, which ends a migration. */
  moveOne(now: number): { readonly key: string; readonly isThere: boolean } | undefined {
    this.source.sweep(now);
    const [first] = [...this.source.entries()].sort(([a], [b]) => (this.#order(a) < this.#order(b) ? -1 : 1));
    if (!first) return undefined;
    const [key, entry] = first;
    const isThere = this.target.get(key, now) !== undefined;
    this.source.delete(key, now);
    this.target.set(key, entry);
    return { key, isThere };
  }
}
