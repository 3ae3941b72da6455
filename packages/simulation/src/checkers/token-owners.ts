import type { Process } from "../engine/process.ts";
import type { Write } from "../master/keyspace.ts";
import { ownPrefix, queuePrefix } from "../master/twins/queue.ts";
import { roundOf } from "../master/twins/rules.ts";

/** Which client drew a token, by what the masters have seen. A master may write one on somebody's behalf. */
export class TokenOwners {
  readonly #byWaiter = new Map<string, Process>();
  /** Each that was asked for: a token is written and looked for on every master. */
  readonly #byToken = new Map<string, Process>();

  /** Whoever writes a token first has drawn it: with its vote, or by its place in a queue. */
  see({ key, entry }: Write, sender: Process): void {
    if (typeof entry?.value !== "string" || this.#byToken.has(entry.value)) return;
    if (key.startsWith(queuePrefix)) this.#draw(key.slice(key.lastIndexOf(":") + 1), sender);
    else if (!key.startsWith(ownPrefix)) {
      const waiter = waiterOf(entry.value);
      this.#draw(waiter, sender);
      this.#byToken.set(entry.value, this.#byWaiter.get(waiter)!);
    }
  }

  of(token: string): Process | undefined {
    return this.#byToken.get(token) ?? this.#byWaiter.get(waiterOf(token));
  }

  #draw(waiter: string, client: Process): void {
    if (!this.#byWaiter.has(waiter)) this.#byWaiter.set(waiter, client);
  }
}

/** What the tokens of all rounds of one stay in a queue have in common. */
export function waiterOf(token: string): string {
  return roundOf(token)?.waiter ?? token;
}
