import type { Redlock } from "@quorlock/redlock";
import { connect } from "../fixture/connect.ts";
import { check, type Recipe } from "./recipe.ts";

/** A cache that computes each value once, however many ask for it at the same time. */
export class Cache {
  readonly #redlock: Redlock;
  readonly #values: Map<string, string>;

  constructor(redlock: Redlock, values: Map<string, string>) {
    this.#redlock = redlock;
    this.#values = values;
  }

  async get(key: string, compute: () => Promise<string>): Promise<string> {
    const cached = this.#values.get(key);
    if (cached !== undefined) return cached;
    // The others wait for the one that computes, and find its value. (By default a call waits for 2 s.)
    return this.#redlock.using(`cache:${key}`, 5000, { waitTimeout: 30_000 }, async (signal) => {
      const found = this.#values.get(key);
      if (found !== undefined) return found;
      const value = await compute();
      signal.throwIfAborted();
      this.#values.set(key, value);
      return value;
    });
  }
}

export const cache: Recipe = {
  title: "cache: 100 requests in four processes miss the same entry at once, and it is computed once",
  async play({ urls }) {
    // The cache that the processes share.
    const values = new Map<string, string>();
    const redlocks = Array.from({ length: 4 }, () => connect(urls));
    let computed = 0;
    const compute = async (): Promise<string> => {
      computed += 1;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return "the report";
    };
    const caches = redlocks.map((redlock) => new Cache(redlock, values));
    const requests = Array.from({ length: 100 }, (_, index) => caches[index % 4]!.get("report", compute));
    const answers = await Promise.all(requests);
    await Promise.all(redlocks.map((redlock) => redlock.quit()));
    check(computed === 1, `it was computed ${computed} times`);
    const others = answers.filter((answer) => answer !== "the report");
    check(others.length === 0, `${others.length} requests got another value`);
    return `${answers.length} requests, computed ${computed} time`;
  },
};
