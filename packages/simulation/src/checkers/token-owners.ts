import type { Process } from "../engine/process.ts";
import type { Write } from "../master/keyspace.ts";
import { isSharable, isShared, membersOf, ownPrefix, queuePrefix, shortNameOf } from "../master/own-keys.ts";
import { Checker, type RunEvent } from "./checker.ts";

/** The client that drew each token, as seen by the masters. A master may write one on another client's behalf. */
export class TokenOwners extends Checker {
  /** Of those who have had a place in a queue, by the name of their entry. */
  readonly #byWaiter = new Map<string, Process>();
  readonly #byToken = new Map<string, Process>();
  /** To whom the lock of a stay was given. */
  readonly #received = new Map<string, Process>();

  see(event: RunEvent): void {
    if (event.is === "given") this.#giveTo(event.to, event.token);
  }

  /** The first client that writes a token has drawn it, unless the token belongs to a waiter. */
  wrote({ key, entry }: Write, sender: Process): void {
    if (isShared(key))
      for (const [name] of membersOf(entry))
        if (!this.#byToken.has(name)) this.#byToken.set(name, this.of(name) ?? sender);
    if (typeof entry?.value !== "string") return;
    if (key.startsWith(queuePrefix)) this.#byWaiter.set(key.slice(key.lastIndexOf(":") + 1), sender);
    else if ((!key.startsWith(ownPrefix) || isSharable(key)) && !this.#byToken.has(entry.value))
      this.#byToken.set(entry.value, this.of(entry.value) ?? sender);
  }

  /**
   * Its lock was granted to `receiver`. (A key with the token of an earlier round of the same waiter is still removed
   * by the previous owner.)
   */
  #giveTo(receiver: Process, token: string): void {
    this.#byToken.set(token, receiver);
    this.#received.set(waiterOf(token), receiver);
  }

  /** Whether a lock of the same stay was given to `client`: its release also removes votes of earlier rounds (PROTOCOL 2.13). */
  hasReceived(client: Process, token: string): boolean {
    return this.#received.get(waiterOf(token)) === client;
  }

  of(token: string): Process | undefined {
    const owner = this.#byToken.get(token);
    if (owner !== undefined || this.#byWaiter.size === 0) return owner;
    return this.#byWaiter.get(shortNameOf(waiterOf(token)));
  }
}

/** The part that the tokens of all rounds of one queue entry share. */
export function waiterOf(token: string): string {
  return roundOf(token)?.waiter ?? token;
}

/** Whether a key with this owner belongs to the token: it holds the very token, or that of an earlier round of the same waiter. */
export function isMine(owner: string, token: string): boolean {
  if (owner === token) return true;
  const own = roundOf(owner);
  const asked = roundOf(token);
  return own !== undefined && asked !== undefined && own.waiter === asked.waiter && own.round < asked.round;
}

/** `<waiter>.<round>`; nothing where a token has no such form. */
function roundOf(token: string): { readonly waiter: string; readonly round: number } | undefined {
  const dot = token.lastIndexOf(".");
  const digits = token.slice(dot + 1);
  return dot > 0 && /^\d+$/.test(digits) ? { waiter: token.slice(0, dot), round: Number(digits) } : undefined;
}
