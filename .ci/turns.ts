/** The steps whose short runs found nothing of their own: see the table of harnesses in CONTRIBUTING.md. */
export const groups = ["node-redis", "interop", "engines", "specification", "benchmark"] as const;
/**
 * Files of tests that take minutes. Those on real masters repeat those of the newest ioredis by another client library, version, mode or
 * user; `commands` starts and ends every command.
 */
const cases = "cluster ioredis-oldest iovalkey node-redis node-redis-oldest one-redis without-scripts";
export const repeats: readonly string[] = [
  ...cases.split(" ").map((name) => `behaviours/${name}`),
  ..."contract/acl contract/oldest-versions commands".split(" "),
];

/** Each commit runs one of the names, the next commit the next one: in time all of them have run. */
export function turns<Name>(names: readonly Name[], commits: number, isAll: boolean) {
  const isTaken = (place: number): boolean => isAll || place === commits % names.length;
  return {
    taken: names.filter((_, place) => isTaken(place)),
    waiting: names.filter((_, place) => !isTaken(place)),
  };
}
