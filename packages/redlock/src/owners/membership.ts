import { quorumOf } from "../protocol/quorum.ts";

// PROTOCOL 1.13, as arithmetic.

/** One master as its client names it, and what identifies its server, if that is known. */
export interface ListedMaster {
  readonly name: string;
  /** As {@link MasterServer.ids}; empty if they are unknown. */
  readonly ids: readonly string[];
}

/** Whether each quorum of one list shares a master with each quorum of the other: q1 + q2 > the distinct masters of both. */
export function quorumsIntersect(members: number, others: number, distinct: number): boolean {
  return quorumOf(members) + quorumOf(others) > distinct;
}

/**
 * The smallest number of distinct masters that two lists can have. Two clients may name one master differently, so two
 * masters may be one unless both have ids, and share none. A record that is found on a master was written by a client that
 * has that master in its list: it may be any of `others`.
 */
export function leastDistinct(
  own: readonly ListedMaster[],
  others: readonly ListedMaster[],
  isFoundOn: (place: number) => boolean = () => false,
): number {
  const mayBeOne = (place: number, { name, ids }: ListedMaster): boolean => {
    const master = own[place]!;
    const areKnown = master.ids.length > 0 && ids.length > 0 && !isFoundOn(place);
    return !areKnown || master.name === name || ids.some((id) => master.ids.includes(id));
  };
  // The most pairs: a pair is given up where its master finds another partner.
  const partners = new Map<ListedMaster, number>();
  const finds = (place: number, tried: Set<ListedMaster>): boolean =>
    others.some((other) => {
      if (tried.has(other) || !mayBeOne(place, other)) return false;
      tried.add(other);
      const rival = partners.get(other);
      if (rival !== undefined && !finds(rival, tried)) return false;
      partners.set(other, place);
      return true;
    });
  const pairs = own.filter((_, place) => finds(place, new Set())).length;
  return own.length + others.length - pairs;
}

/** The number of distinct masters if each has one name. */
export function distinctNames(own: readonly ListedMaster[], others: readonly ListedMaster[]): number {
  return new Set([...own, ...others].map(({ name }) => name)).size;
}
