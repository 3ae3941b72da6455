import { Semaphore } from "@quorlock/redlock/semaphore";
import { connect } from "../fixture/connect.ts";
import { check, type Recipe } from "./recipe.ts";

/** The provider answers with an error if more than this many requests are under way. */
const limit = 3;

/** A request to an API that allows a few at a time, from all processes together. */
export function request<T>(api: Semaphore, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
  // Waits for a permit in the order of the calls; the permit is free again after 5 s if this process dies.
  return api.using(5000, { waitTimeout: 30_000 }, (signal) => send(signal));
}

export const rateLimit: Recipe = {
  title: `rate-limit: 40 requests of four processes to an API that allows ${limit} at a time`,
  async play({ urls }) {
    const redlocks = Array.from({ length: 4 }, () => connect(urls));
    const apis = redlocks.map((redlock) => new Semaphore(redlock, "payments-api", limit));
    let underWay = 0;
    let most = 0;
    const send = async (): Promise<void> => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setTimeout(resolve, 30));
      underWay -= 1;
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => request(apis[index % 4]!, send)));
    await Promise.all(redlocks.map((redlock) => redlock.quit()));
    check(most === limit, `${most} requests were under way at a time`);
    return `40 requests, at most ${most} at a time`;
  },
};
