import { type ListedMaster, leastDistinct, quorumsIntersect } from "@quorlock/redlock/internal";
import { distinctOwners, type SeenOwner } from "../look/owners.ts";
import { titleOf } from "../look/report.ts";
import type { Observation } from "./observe.ts";

/** A list of masters, and who uses it: a client, or this program. */
interface UsedList {
  readonly by: string;
  readonly masters: readonly ListedMaster[];
  /** Whether a record of its owner was found on this master of the list that is asked. */
  readonly isFoundOn: (place: number) => boolean;
}

/** The number of different lists that are compared with each other. */
const maxLists = 20;

export interface Membership {
  /** The clients with a record. */
  readonly clients: number;
  /** Two users of lists whose quorums may share no master. */
  readonly conflict: readonly [one: string, other: string] | undefined;
}

/** Compares the lists of all clients that have a record, and the list that is asked (PROTOCOL 1.13). */
export function membershipOf(all: readonly Observation[]): Membership {
  const owners = distinctOwners(all.flatMap(({ owners: found = [] }) => found));
  const asked: UsedList = {
    by: "this list",
    masters: all.map(({ name, runIds }) => ({ name, ids: [...new Set(runIds)] })),
    isFoundOn: () => false,
  };
  const isOn =
    ({ tag }: SeenOwner) =>
    (place: number): boolean =>
      all[place]?.owners?.some((owner) => owner.tag === tag) ?? false;
  const used = owners.map((owner) => ({
    by: titleOf(owner),
    masters: owner.masters,
    isFoundOn: isOn(owner),
  }));
  const lists = [...new Map(used.map((list) => [JSON.stringify(list.masters), list])).values()].slice(
    0,
    maxLists,
  );
  for (const list of lists) {
    const isOfAsked = goTogether(asked, list, list.isFoundOn);
    const other = isOfAsked ? lists.find((one) => !goTogether(list, one)) : asked;
    if (other) return { clients: owners.length, conflict: [list.by, other.by] };
  }
  return { clients: owners.length, conflict: undefined };
}

function goTogether(one: UsedList, other: UsedList, isFoundOn?: (place: number) => boolean): boolean {
  const distinct = leastDistinct(one.masters, other.masters, isFoundOn);
  return quorumsIntersect(one.masters.length, other.masters.length, distinct);
}
