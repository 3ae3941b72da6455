/** The steps whose short runs found nothing of their own: see the table of harnesses in CONTRIBUTING.md. */
export const groups = ["node-redis", "interop", "engines", "specification", "benchmark"] as const;
/**
 * Files of cases on real masters: each repeats those of the newest ioredis by another client library, version or mode. Those
 * that take longest are in turn with the groups that take least.
 */
export const repeats = [
  "without-scripts",
  "ioredis-oldest",
  "iovalkey",
  "node-redis",
  "node-redis-oldest",
] as const;

/** Each commit runs one of the names, the next commit the next one: in time all of them have run. */
export function turns<Name>(names: readonly Name[], commits: number, isAll: boolean) {
  const isTaken = (place: number): boolean => isAll || place === commits % names.length;
  return {
    taken: names.filter((_, place) => isTaken(place)),
    waiting: names.filter((_, place) => !isTaken(place)),
  };
}
