import { printable, titleOf } from "../errors.ts";
import { distinctNames, type ListedMaster, leastDistinct, quorumsIntersect } from "./membership.ts";
import type { OwnerRecord } from "./owner-record.ts";

/** The number of tags in one reply: see owner.lua. */
const tagsPerReply = 50;

/** How many lists are compared in one turn, and how many owners are kept: more are not compared. */
const maxSuspects = 50;
const maxKnown = 10_000;

interface Known {
  /** The turn in which a master has named it last. */
  heard: number;
  /** The names of its masters; `undefined` until its record is read. */
  list: string | undefined;
}

/** An owner, how often it had written its record, and the ids of both lists. */
interface Doubt {
  readonly tag: string;
  readonly writes: number;
  readonly ids: string;
}

/**
 * A server has another id after a restart, and a record has the old one until its next write, or the one after the next if its
 * owner has not noticed. So ids count once this many more writes have shown the same.
 */
const writesToConfirm = 2;

/**
 * The lists of masters of other owners (PROTOCOL 1.13). A turn is a write of the own record: each master names up to
 * {@link tagsPerReply} owners in it, and others in the next one.
 */
export class Lists {
  readonly #known = new Map<string, Known>();
  /** The masters of each list that is in use, by their names. */
  #lists = new Map<string, readonly ListedMaster[]>();
  /** The lists that may not go with the own one: what showed it first. */
  readonly #doubts = new Map<string, Doubt>();
  /** The lists that have been reported, and are still in use. */
  readonly #reported = new Set<string>();
  /** The turns that it takes until every owner has been named. */
  #round = 1;

  /** A master has named this owner, and counts so many. */
  hear(tag: string, turn: number, count: number): void {
    const known = this.#known.get(tag);
    if (known) known.heard = turn;
    else if (this.#known.size < maxKnown) this.#known.set(tag, { heard: turn, list: undefined });
    this.#round = Math.max(this.#round, Math.ceil(count / tagsPerReply));
  }

  /** Forgets owners that no master has named for long, and returns some whose records have not been read. */
  unread(turn: number): readonly string[] {
    // Owners come and go between the turns, so that the places of the others change.
    for (const [tag, { heard }] of this.#known)
      if (heard < turn - 2 * this.#round - 2) this.#known.delete(tag);
    this.#round = 1;
    const unread = [...this.#known].filter(([, { list }]) => list === undefined);
    return unread.slice(0, tagsPerReply).map(([tag]) => tag);
  }

  /** A Redlock keeps its list. */
  learn({ tag, masters }: OwnerRecord): void {
    const known = this.#known.get(tag);
    if (!known || masters.length === 0) return;
    known.list = namesOf(masters);
    this.#lists.set(known.list, masters);
  }

  /** It has no record any more: another owner speaks for its list. */
  forget(tag: string): void {
    this.#known.delete(tag);
  }

  /** An owner for each list that does not go with `own` if each master has one name. */
  suspects(own: readonly ListedMaster[]): readonly string[] {
    const speakers = new Map<string, string>();
    for (const [tag, { list }] of this.#known)
      if (list !== undefined && !speakers.has(list)) speakers.set(list, tag);
    for (const list of this.#lists.keys()) if (!speakers.has(list)) this.#end(list);
    return [...speakers]
      .filter(([list]) => {
        const masters = this.#lists.get(list)!;
        return !quorumsIntersect(own.length, masters.length, distinctNames(own, masters));
      })
      .slice(0, maxSuspects)
      .map(([, tag]) => tag);
  }

  /** Returns what to report, if this list does not go with `own` and that has not been reported. */
  judge(
    own: readonly ListedMaster[],
    record: OwnerRecord,
    isFoundOn: (place: number) => boolean,
  ): string | undefined {
    const { tag, masters, writes } = record;
    const list = namesOf(masters);
    if (this.#reported.has(list)) return undefined;
    const isSafe = (one: readonly ListedMaster[], other: readonly ListedMaster[]): boolean =>
      quorumsIntersect(one.length, other.length, leastDistinct(one, other, isFoundOn));
    if (isSafe(own, masters)) {
      this.#doubts.delete(list);
      return undefined;
    }
    const doubt = this.#doubts.get(list);
    const ids = JSON.stringify([own, masters]);
    const isKept = doubt?.tag === tag && doubt.ids === ids;
    if (!isKept) this.#doubts.set(list, { tag, writes, ids });
    const isConfirmed = isKept && writes >= doubt.writes + writesToConfirm;
    if (!isConfirmed && isSafe(withoutIds(own), withoutIds(masters))) return undefined;
    this.#reported.add(list);
    return (
      `${titleOf(record)} locks on other masters: ${printable(list)}. A quorum of these ${masters.length} and one of ` +
      `our ${own.length} need not share a master, so two clients can hold one lock: change the list by one master at a time`
    );
  }

  /** No owner has this list any more. */
  #end(list: string): void {
    this.#lists.delete(list);
    this.#doubts.delete(list);
    this.#reported.delete(list);
  }
}

function withoutIds(masters: readonly ListedMaster[]): readonly ListedMaster[] {
  return masters.map(({ name }) => ({ name, ids: [] }));
}

function namesOf(masters: readonly ListedMaster[]): string {
  return masters
    .map(({ name }) => name)
    .sort()
    .join(", ");
}
