/** The steps whose short runs found nothing of their own: see the table of harnesses in CONTRIBUTING.md. */
const groups = ["node-redis", "interop", "engines", "specification", "benchmark"] as const;
/** Files of cases on real masters: each repeats those of the newest ioredis by another client library or version. */
const repeats = ["ioredis-oldest", "node-redis", "node-redis-oldest", "iovalkey"] as const;

/** What one commit of a list runs, the next commit the next: in time all of them have run. */
export interface Turns<Name extends string> {
  readonly taken: readonly Name[];
  readonly waiting: readonly Name[];
}

function turnsOf<Name extends string>(names: readonly Name[], commits: number, isAll: boolean): Turns<Name> {
  const isTaken = (place: number): boolean => isAll || place === commits % names.length;
  return {
    taken: names.filter((_, place) => isTaken(place)),
    waiting: names.filter((_, place) => !isTaken(place)),
  };
}

export function turnsOfGroups(commits: number, isAll: boolean): Turns<(typeof groups)[number]> {
  return turnsOf(groups, commits, isAll);
}

export function turnsOfRepeats(commits: number, isAll: boolean): Turns<(typeof repeats)[number]> {
  return turnsOf(repeats, commits, isAll);
}
