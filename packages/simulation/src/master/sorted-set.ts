import { ReplyError } from "./reply.ts";

export interface Member {
  readonly name: string;
  readonly score: number;
}

/** By score, and those with one score by name. */
export type SortedSet = readonly Member[];

/** `set` with `name` at `score`, wherever it was before. A set is never changed: a log may keep it. */
export function withMember(set: SortedSet, name: string, score: number): SortedSet {
  const others = set.filter((member) => member.name !== name);
  const place = others.findIndex(
    (member) => score < member.score || (score === member.score && name < member.name),
  );
  const added = { name, score };
  return place < 0 ? [...others, added] : others.toSpliced(place, 0, added);
}

/** The members from `first` to `last`, both included; below zero they count from the end. */
export function slice(set: SortedSet, first: number, last: number): SortedSet {
  const from = first < 0 ? Math.max(0, set.length + first) : first;
  const to = last < 0 ? set.length + last : last;
  return to < from ? [] : set.slice(from, to + 1);
}

/** A score as Redis reads it, by C's `strtod`: hexadecimal and infinity too, but nothing around it. */
export function scoreIn(text: string): number {
  const score = /^[+-]?inf(inity)?$/i.test(text)
    ? (text.startsWith("-") ? -1 : 1) * Number.POSITIVE_INFINITY
    : Number(text);
  if (text === "" || /\s/.test(text) || Number.isNaN(score))
    throw new ReplyError("ERR value is not a valid float");
  return score;
}

/** The score as Redis prints it. (Fractions to 17 digits before Redis 7.2, shorter since: tickets have none.) */
export function scoreText(score: number): string {
  if (Number.isFinite(score)) return String(score);
  return score > 0 ? "inf" : "-inf";
}

/** One end of a range of scores; `isOpen`: the score itself is not in it. */
export function boundIn(text: string): { readonly score: number; readonly isOpen: boolean } {
  const isOpen = text.startsWith("(");
  const score = isOpen ? text.slice(1) : text;
  try {
    // (Here nothing is a number to Redis.)
    return { score: score === "" ? 0 : scoreIn(score), isOpen };
  } catch {
    throw new ReplyError("ERR min or max is not a float");
  }
}
