import type { Master } from "../master/master.ts";
import { type SubjectLock, tokenOf } from "../run/subject.ts";
import { Checker, type RunEvent } from "./checker.ts";

/** No key lives longer than the ttl that was asked for with its token: else it keeps others out when its holder is dead (PROTOCOL 6.1). */
export class Lifetimes extends Checker {
  /** By token: the longest ttl that was asked for, ms. */
  readonly #ttls = new Map<string, number>();
  /** By token: the longest time that a write has given a key, ms. */
  readonly #longest = new Map<string, number>();

  see(event: RunEvent): void {
    if (event.is === "ran") this.#ran(event.master, event.written);
    else if (event.is === "asked for") this.#askedFor(event.lock, event.ttl);
    else if (event.is === "held" && event.wait) this.#askedFor(event.interval.lock, event.wait.ttl);
  }

  /** A script may set the expiry of a key before its token: only what it leaves behind counts. */
  #ran(master: Master, written: Iterable<string>): void {
    for (const key of written) {
      const entry = master.peek(key);
      if (typeof entry?.value !== "string" || entry.expiresAt === undefined) continue;
      const lives = entry.expiresAt - master.process.wallNow();
      if (lives <= (this.#longest.get(entry.value) ?? 0)) continue;
      this.#longest.set(entry.value, lives);
      this.#judge(entry.value);
    }
  }

  #askedFor(lock: SubjectLock, ttl: number): void {
    const token = tokenOf(lock);
    this.#ttls.set(token, Math.max(ttl, this.#ttls.get(token) ?? 0));
    this.#judge(token);
  }

  #judge(token: string): void {
    const [ttl = Number.POSITIVE_INFINITY, lives = 0] = [this.#ttls.get(token), this.#longest.get(token)];
    if (lives > ttl)
      this.violated("leftover", `a key of ${token} lives for ${lives} ms, and its ttl is ${ttl} ms`);
  }
}
