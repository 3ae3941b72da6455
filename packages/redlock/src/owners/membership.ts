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
 * The number of distinct masters in two lists. Two clients may name one master differently, and a server has another id
 * after a restart. So a master counts as common to both if anything says so: the same id, the same name, or
 * `isShared`, by its place in `own`: a record that the owner of `others` has written was found there.
 */
export function distinctMasters(
  own: readonly ListedMaster[],
  others: readonly ListedMaster[],
  isShared: (place: number) => boolean = () => false,
): number {
  const isListed = ({ name, ids }: ListedMaster): boolean =>
    others.some((other) => other.name === name || other.ids.some((id) => ids.includes(id)));
  const common = own.filter((master, place) => isShared(place) || isListed(master)).length;
  return own.length + others.length - Math.min(common, others.length);
}
