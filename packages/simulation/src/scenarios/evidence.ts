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

/** The first hold of a client. */
function hold({ holds }: Picture, client: number): Hold | undefined {
  return holds.find((candidate) => candidate.client === client);
}

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

/** All of a plan's faults struck. */
export function faults(count: number): Evidence {
  return { what: `all ${count} faults struck`, isIn: (picture) => picture.faults.length === count };
}

export function gets(client: number): Evidence {
  return {
    what: `client ${client} got the lock`,
    isIn: (picture) => hold(picture, client) !== undefined,
  };
}

/** Its first hold began in this time, ms. */
export function getsBetween(client: number, from: number, to: number): Evidence {
  return {
    what: `client ${client} got the lock between ${from} and ${to} ms`,
    isIn: (picture) => {
      const { from: begins } = hold(picture, client) ?? { from: Number.NaN };
      return begins >= 1000 * from && begins <= 1000 * to;
    },
  };
}

/** When its first hold began, these masters and no others had its vote. */
export function hasVotesOf(client: number, ...masters: readonly number[]): Evidence {
  return {
    what: `client ${client} held by the votes of ${names(masters)} alone`,
    isIn: (picture) => {
      const first = hold(picture, client);
      if (!first) return false;
      const own = votesIn(picture).filter((vote) => vote.client === client && vote.at <= first.until);
      return sameNumbers(
        own.map(({ master }) => master),
        masters,
      );
    },
  };
}

/** A fault struck while the client's first hold lasted. */
export function struckWhileHolding(client: number): Evidence {
  return {
    what: `a fault struck while client ${client} held the lock`,
    isIn: (picture) => {
      const first = hold(picture, client);
      return (
        first !== undefined && picture.faults.some(({ from }) => from >= first.from && from < first.until)
      );
    },
  };
}

/** One client's first hold began while the other's lasted, by the other's own account. */
export function getsWhileHeld(client: number, holder: number): Evidence {
  return {
    what: `client ${client} got the lock while client ${holder} had not given it up`,
    isIn: (picture) => {
      const [later, earlier] = [hold(picture, client), hold(picture, holder)];
      return later !== undefined && earlier !== undefined && later.from < earlier.until;
    },
  };
}

/** One client's first hold began after the other's was over. */
export function getsAfter(client: number, holder: number): Evidence {
  return {
    what: `client ${client} got the lock after client ${holder} had given it up`,
    isIn: (picture) => {
      const [later, earlier] = [hold(picture, client), hold(picture, holder)];
      return later !== undefined && earlier !== undefined && later.from >= earlier.until;
    },
  };
}

/** In their first holds. */
export function writesLast(client: number, other: number): Evidence {
  return {
    what: `client ${client}'s last write came after client ${other}'s`,
    isIn: (picture) => {
      const [mine, theirs] = [hold(picture, client), hold(picture, other)];
      return (mine?.writes.at(-1)?.[0] ?? 0) > (theirs?.writes.at(-1)?.[0] ?? Number.POSITIVE_INFINITY);
    },
  };
}

/** This master voted for `client` while the hold of `holder` lasted. */
export function winsAVoteWhileHeld(client: number, master: number, holder: number): Evidence {
  return {
    what: `${letters[master]} gave client ${client} its vote while client ${holder} held the lock`,
    isIn: (picture) => {
      const held = hold(picture, holder);
      const own = votesIn(picture).filter((vote) => vote.client === client && vote.master === master);
      return held !== undefined && own.some(({ at }) => at > held.from && at < held.until);
    },
  };
}

/** A master gave `client` its vote at `at` ms or later. */
export function lateVote(client: number, at: number): Evidence {
  return {
    what: `a master voted for client ${client} after ${at} ms`,
    isIn: (picture) => votesIn(picture).some((vote) => vote.client === client && vote.at >= 1000 * at),
  };
}

/** These masters, and no others, voted for `client` after `at` ms. */
export function votesAfter(client: number, at: number, ...masters: readonly number[]): Evidence {
  return {
    what: `${names(masters)} voted for client ${client} after ${at} ms`,
    isIn: (picture) => {
      const later = votesIn(picture).filter((vote) => vote.client === client && vote.at > 1000 * at);
      return sameNumbers(
        later.map(({ master }) => master),
        masters,
      );
    },
  };
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

function sameNumbers(left: readonly number[], right: readonly number[]): boolean {
  const one = new Set(left);
  return one.size === new Set(right).size && right.every((number) => one.has(number));
}
