import type { Source } from "./scenario.ts";

/** Martin Kleppmann, 2016. */
export function kleppmann(part: string): Source {
  return {
    text: `Kleppmann, "How to do distributed locking", ${part}`,
    url: "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html",
  };
}

/** Salvatore Sanfilippo's reply. */
export const antirez: Source = { text: 'antirez, "Is Redlock safe?"', url: "http://antirez.com/news/101" };

/** Where the algorithm is described. */
export function redisDocumentation(part: string): Source {
  return {
    text: `Redis documentation, "Distributed Locks with Redis", ${part}`,
    url: "https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/",
  };
}

/** Where the same is played on real masters. */
export function behaviourOf(rule: string, title: string): Source {
  return { text: `rule ${rule} in test/behaviours: "${title}"` };
}
