import type { RecordedHold, Recording } from "./recording.ts";

/** The subjects that every scenario is run with. */
export const scenarioSubjects = ["quorlock", "redlock-5"] as const;

export type ScenarioSubject = (typeof scenarioSubjects)[number];

/** Something that is seen in a recording, or is not. */
export interface Evidence {
  readonly what: string;
  readonly isIn: (recording: Recording) => boolean;
  /** With this subject alone. */
  readonly of?: ScenarioSubject;
}

/** That it is to be seen with this subject alone. */
export function onlyWith(of: ScenarioSubject, evidence: Evidence): Evidence {
  return { ...evidence, of };
}

const letters = "ABCDEFG";

/** The `nth` hold of a client, from 1. */
function hold({ holds }: Recording, client: number, nth = 1): RecordedHold | undefined {
  return holds.filter((candidate) => candidate.client === client)[nth - 1];
}

/** All of a plan's faults struck. */
export function faults(count: number): Evidence {
  return { what: `all ${count} faults struck`, isIn: (recording) => recording.faults.length === count };
}

export function gets(client: number): Evidence {
  return {
    what: `client ${client} got the lock`,
    isIn: (recording) => hold(recording, client) !== undefined,
  };
}

/** Its first hold began in this time, ms. */
export function getsBetween(client: number, from: number, to: number): Evidence {
  return {
    what: `client ${client} got the lock between ${from} and ${to} ms`,
    isIn: (recording) => {
      const { begins } = hold(recording, client) ?? { begins: Number.NaN };
      return begins >= from && begins <= to;
    },
  };
}

/** When its first hold began, these masters and no others had its vote. */
export function hasVotesOf(client: number, ...masters: readonly number[]): Evidence {
  return {
    what: `client ${client} held by the votes of ${names(masters)} alone`,
    isIn: (recording) => {
      const first = hold(recording, client);
      if (!first) return false;
      const own = recording.votes.filter((vote) => vote.client === client && vote.at <= first.ends);
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
    isIn: (recording) => {
      const first = hold(recording, client);
      return first !== undefined && recording.faults.some((at) => at >= first.begins && at < first.ends);
    },
  };
}

/** One client's first hold began while the other's lasted, by the other's own account. */
export function getsWhileHeld(client: number, holder: number): Evidence {
  return {
    what: `client ${client} got the lock while client ${holder} had not given it up`,
    isIn: (recording) => {
      const [later, earlier] = [hold(recording, client), hold(recording, holder)];
      return later !== undefined && earlier !== undefined && later.begins < earlier.ends;
    },
  };
}

/** One client's first hold began after the other's was over. */
export function getsAfter(client: number, holder: number): Evidence {
  return {
    what: `client ${client} got the lock after client ${holder} had given it up`,
    isIn: (recording) => {
      const [later, earlier] = [hold(recording, client), hold(recording, holder)];
      return later !== undefined && earlier !== undefined && later.begins >= earlier.ends;
    },
  };
}

/** In their first holds. */
export function writesLast(client: number, other: number): Evidence {
  return {
    what: `client ${client}'s last write came after client ${other}'s`,
    isIn: (recording) => {
      const [mine, theirs] = [hold(recording, client), hold(recording, other)];
      return (mine?.writes.at(-1) ?? 0) > (theirs?.writes.at(-1) ?? Number.POSITIVE_INFINITY);
    },
  };
}

/** This master voted for `client` while the hold of `holder` lasted. */
export function winsAVoteWhileHeld(client: number, master: number, holder: number): Evidence {
  return {
    what: `${letters[master]} gave client ${client} its vote while client ${holder} held the lock`,
    isIn: (recording) => {
      const held = hold(recording, holder);
      return recording.votes.some(
        (vote) =>
          held !== undefined &&
          vote.client === client &&
          vote.master === master &&
          vote.at > held.begins &&
          vote.at < held.ends,
      );
    },
  };
}

/** A master gave `client` its vote at `at` ms or later. */
export function lateVote(client: number, at: number): Evidence {
  return {
    what: `a master voted for client ${client} after ${at} ms`,
    isIn: ({ votes }) => votes.some((vote) => vote.client === client && vote.at >= at),
  };
}

/** These masters, and no others, voted for `client` after `at` ms. */
export function votesAfter(client: number, at: number, ...masters: readonly number[]): Evidence {
  return {
    what: `${names(masters)} voted for client ${client} after ${at} ms`,
    isIn: ({ votes }) => {
      const later = votes.filter((vote) => vote.client === client && vote.at > at);
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
    // A vote that no client sent.
    isIn: ({ votes }) => votes.some((vote) => vote.master === master && Number.isNaN(vote.client)),
  };
}

/** The first votes of all masters went to several clients, and to none of them a majority. */
export function splitVote(masters: number): Evidence {
  return {
    what: "the vote was split, and no client had a majority",
    isIn: ({ votes }) => {
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
