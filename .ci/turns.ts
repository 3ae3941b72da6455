/** The steps whose short runs found nothing of their own: see the table of harnesses in CONTRIBUTING.md. */
export const groups = ["node-redis", "interop", "engines", "specification", "benchmark"] as const;

export type Group = (typeof groups)[number];

/** Each commit runs one group, the next commit the next one: in time all of them have run. */
export function turns(commits: number, isAll: boolean): { taken: Group[]; waiting: Group[] } {
  const isTaken = (place: number): boolean => isAll || place === commits % groups.length;
  return {
    taken: groups.filter((_, place) => isTaken(place)),
    waiting: groups.filter((_, place) => !isTaken(place)),
  };
}
