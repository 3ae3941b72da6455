import type { Hold, Picture } from "../pictures/picture.ts";

/** The subjects that every scenario is run with. */
export const scenarioSubjects = ["quorlock", "redlock-5"] as const;

export type ScenarioSubject = (typeof scenarioSubjects)[number];

/** Something that is seen in the picture of a run, or is not. */
export interface Evidence {
  readonly what: string;
  readonly isIn: (picture: Picture) => boolean;
  /** With this subject alone. */
  readonly of?: ScenarioSubject;
}

/** That it is to be seen with this subject alone. */
export function onlyWith(of: ScenarioSubject, evidence: Evidence): Evidence {
  return { ...evidence, of };
}

const letters = "ABCDEFG";

/** A key that a client has set on a master. */
interface Vote {
  /** us */
  readonly at: number;
  readonly master: number;
  readonly client: number;
}

function votesIn({ masters }: Picture): readonly Vote[] {
  return masters.flatMap(({ keys }, master) =>
    keys.map(([, client, , at]): Vote => ({ at, master, client })),
  );
}

function votesOf(picture: Picture, client: number): readonly Vote[] {
  return votesIn(picture).filter((vote) => vote.client === client);
}

/** Something about the first holds of two clients. */
function ofHolds(
  client: number,
  other: number,
  what: string,
  isSo: (its: Hold, others: Hold, picture: Picture) => boolean,
): Evidence {
  const isIn = (picture: Picture): boolean => {
    const [its, others] = [client, other].map((one) => picture.holds.find((hold) => hold.client === one));
    return its !== undefined && others !== undefined && isSo(its, others, picture);
  };
  return { what, isIn };
}

/** All of a plan's faults struck. */
export function faults(count: number): Evidence {
  return { what: `all ${count} faults struck`, isIn: (picture) => picture.faults.length === count };
}

export function gets(client: number): Evidence {
  return ofHolds(client, client, `client ${client} got the lock`, () => true);
}

/** Its first hold began in this time, ms. */
export function getsBetween(client: number, from: number, to: number): Evidence {
  const what = `client ${client} got the lock between ${from} and ${to} ms`;
  return ofHolds(client, client, what, (hold) => hold.from >= 1000 * from && hold.from <= 1000 * to);
}

/** When its first hold began, these masters and no others had its vote. */
export function hasVotesOf(client: number, ...masters: readonly number[]): Evidence {
  const what = `client ${client} held by the votes of ${names(masters)} alone`;
  return ofHolds(client, client, what, ({ until }, _, picture) =>
    areOf(
      votesOf(picture, client).filter(({ at }) => at <= until),
      masters,
    ),
  );
}

/** A fault struck while the client's first hold lasted. */
export function struckWhileHolding(client: number): Evidence {
  const what = `a fault struck while client ${client} held the lock`;
  return ofHolds(client, client, what, (hold, _, picture) =>
    picture.faults.some(({ from }) => from >= hold.from && from < hold.until),
  );
}

/** One client's first hold began while the other's lasted, by the other's own account. */
export function getsWhileHeld(client: number, holder: number): Evidence {
  const what = `client ${client} got the lock while client ${holder} had not given it up`;
  return ofHolds(client, holder, what, ({ from }, { until }) => from < until);
}

/** One client's first hold began after the other's was over. */
export function getsAfter(client: number, holder: number): Evidence {
  const what = `client ${client} got the lock after client ${holder} had given it up`;
  return ofHolds(client, holder, what, ({ from }, { until }) => from >= until);
}

/** In their first holds. */
export function writesLast(client: number, other: number): Evidence {
  const what = `client ${client}'s last write came after client ${other}'s`;
  return ofHolds(client, other, what, (its, others) => lastWrite(its) > lastWrite(others));
}

function lastWrite({ writes }: Hold): number {
  return writes.at(-1)?.[0] ?? Number.NaN;
}

/** This master voted for `client` while the hold of `holder` lasted. */
export function winsAVoteWhileHeld(client: number, master: number, holder: number): Evidence {
  const what = `${letters[master]} gave client ${client} its vote while client ${holder} held the lock`;
  return ofHolds(holder, holder, what, ({ from, until }, _, picture) =>
    votesOf(picture, client).some((vote) => vote.master === master && vote.at > from && vote.at < until),
  );
}

/** A master gave `client` its vote at `at` ms or later. */
export function lateVote(client: number, at: number): Evidence {
  const isIn = (picture: Picture): boolean => votesOf(picture, client).some((vote) => vote.at >= 1000 * at);
  return { what: `a master voted for client ${client} after ${at} ms`, isIn };
}

/** These masters, and no others, voted for `client` after `at` ms. */
export function votesAfter(client: number, at: number, ...masters: readonly number[]): Evidence {
  const isIn = (picture: Picture): boolean =>
    areOf(
      votesOf(picture, client).filter((vote) => vote.at > 1000 * at),
      masters,
    );
  return { what: `${names(masters)} voted for client ${client} after ${at} ms`, isIn };
}

/** This master came back from a crash with a key. */
export function restores(master: number): Evidence {
  return {
    what: `${letters[master]} came back with a key`,
    isIn: ({ masters }) => {
      const { keys } = masters[master]!;
      const lost = keys.filter(([, , , , , , end]) => end === "lost");
      return lost.some(([, , token, , until]) =>
        keys.some(([, , of, from]) => of === token && from >= until),
      );
    },
  };
}

/** The first votes of all masters went to several clients, and to none of them a majority. */
export function splitVote(masters: number): Evidence {
  return {
    what: "the vote was split, and no client had a majority",
    isIn: (picture) => {
      const votes = votesIn(picture);
      const first = Array.from({ length: masters }, (_, master) =>
        votes.find((vote) => vote.master === master),
      );
      const shares = new Map<unknown, number>();
      for (const vote of first) if (vote) shares.set(vote.client, (shares.get(vote.client) ?? 0) + 1);
      return shares.size > 1 && Math.max(...shares.values()) <= masters / 2;
    },
  };
}

function names(masters: readonly number[]): string {
  return masters.map((master) => letters[master]).join(", ");
}

function areOf(votes: readonly Vote[], masters: readonly number[]): boolean {
  const voted = new Set(votes.map(({ master }) => master));
  return voted.size === masters.length && masters.every((master) => voted.has(master));
}
