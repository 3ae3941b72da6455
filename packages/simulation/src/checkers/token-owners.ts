import type { Process } from "../engine/process.ts";
import type { Write } from "../master/keyspace.ts";
import { ownPrefix, queuePrefix } from "../master/twins/queue.ts";
import { roundOf } from "../master/twins/rules.ts";

/** Which client drew a token, by what the masters have seen. A master may write one on somebody's behalf. */
export class TokenOwners {
  /** By the waiter, where a token has rounds; else by the token. */
  readonly #owners = new Map<string, Process>();

  /** Whoever writes a token first has drawn it: with its vote, or by its place in a queue. */
  see({ key, entry }: Write, sender: Process): void {
    if (typeof entry?.value !== "string") return;
    if (key.startsWith(ownPrefix) && !key.startsWith(queuePrefix)) return;
    const name = key.startsWith(queuePrefix) ? key.slice(key.lastIndexOf(":") + 1) : waiterOf(entry.value);
    if (!this.#owners.has(name)) this.#owners.set(name, sender);
  }

  of(token: string): Process | undefined {
    return this.#owners.get(waiterOf(token));
  }
}

/** What the tokens of all rounds of one stay in a queue have in common. */
export function waiterOf(token: string): string {
  return roundOf(token)?.waiter ?? token;
}
