import type { DrawnViolation, Hold, Key, Overlap, Picture } from "./picture.ts";
import { letter, named } from "./run-strip.ts";

/** Something that happened, in a sentence. */
export interface Sentence {
  /** us */
  readonly at: number;
  readonly text: string;
  readonly isDanger: boolean;
  /** As long as it lasts, nothing that happens meanwhile matters more, us. */
  readonly until?: number;
  /** The number of the hold that it is about. */
  readonly hold?: number;
}

/** The run in sentences, in the order of time. */
export function tellRun(picture: Picture): readonly Sentence[] {
  const { faults, holds, overlaps, violations } = picture;
  const sentences: Sentence[] = [
    ...holds.flatMap((hold) => [...beginning(picture, hold), ...lateWrites(hold)]),
    ...faults.map(({ from, words }) => plain(from, `fault: ${named(words)}`)),
    ...overlaps.map((overlap) => ({
      ...danger(overlap.from, whyTwo(picture, overlap)),
      until: overlap.until,
    })),
    ...violations
      .filter(({ kind }) => kind in reasons)
      .map((violation) => danger(violation.at, reasonOf(violation))),
  ];
  return sentences.sort((one, other) => one.at - other.at);
}

function plain(at: number, text: string): Sentence {
  return { at, text, isDanger: false };
}

function danger(at: number, text: string): Sentence {
  return { at, text, isDanger: true };
}

function beginning(picture: Picture, hold: Hold): readonly Sentence[] {
  const votes = namesOf(votersOf(picture, hold));
  const begins = `client ${hold.client} gets the lock${votes === "" ? "" : `, by the votes of ${votes}`}`;
  const ends = `client ${hold.client} holds the lock no longer`;
  return [plain(hold.from, begins), plain(hold.until, ends)].map((its) => ({ ...its, hold: hold.number }));
}

/** A moment that is easily missed, us. */
const lasting = 300_000;

function lateWrites({ client, writes, number }: Hold): readonly Sentence[] {
  const text =
    `client ${client} writes too late, and the resource turns it away: ` +
    "a later holder has written with a larger fencing token";
  return writes
    .filter(([, isAccepted]) => !isAccepted)
    .map(([at]) => ({ ...plain(at, text), until: at + lasting, hold: number }));
}

/** By number: the masters that keep the key of this hold when it begins. */
export function votersOf({ masters }: Picture, { token, from }: Hold): readonly number[] {
  return masters.flatMap(({ keys }, master) =>
    keys.some(([, , of, since, until]) => of === token && since <= from && until > from) ? [master] : [],
  );
}

/** Masters have letters: 0 is A. */
export function namesOf(masters: readonly number[]): string {
  return masters.map(letter).join(", ");
}

/** Which masters voted for both holders, and how each could. */
export function whyTwo(picture: Picture, { holds, from }: Overlap): string {
  const [first, second] = holds.map((index) => picture.holds[index]!) as [Hold, Hold];
  const [ours, theirs] = [votersOf(picture, first), votersOf(picture, second)];
  const both = theirs.filter((master) => ours.includes(master));
  const sentence =
    `Two holders: client ${second.client} gets the lock, by the votes of ${namesOf(theirs)}, while client ` +
    `${first.client} holds it by ${namesOf(ours)}.`;
  const reasons = both.map(
    (master) => `${namesOf([master])} voted twice: ${endOf(picture, master, first, from)}`,
  );
  return [sentence, ...reasons].join(" ");
}

const ends: Readonly<Record<Key[6], string>> = {
  expired: "by its own clock the first key has expired.",
  deleted: "the first key was deleted.",
  overwritten: "the first key was overwritten.",
  lost: "it has lost the first key.",
  kept: "it keeps the first key still.",
};

/** How the first holder's key came to its end on a master, and the fault there that led to it. */
function endOf({ masters, faults }: Picture, master: number, { token }: Hold, before: number): string {
  const key = masters[master]!.keys.find(([, , of]) => of === token);
  const fault = faults.findLast(
    ({ kind, from, words }) => kind !== "cut" && from <= before && words.includes(masters[master]!.name),
  );
  return `${fault ? `${named(fault.words)}, and ` : ""}${ends[key?.[6] ?? "lost"]}`;
}

/** The meaning of each violation for those who use the lock; two holders are told of by their overlap. */
const reasons: Readonly<Record<string, string>> = {
  effect: "A stale write: the holder of an earlier lock writes after the holder of a later one.",
  expired: "acquire returns a lock that has expired already.",
  untold: "Others could hold the lock, and its holder was not notified.",
  unsettled: "A call does not settle in its time.",
  fencing: "Fencing tokens are not in the order of the locks.",
};

function reasonOf({ kind, detail }: DrawnViolation): string {
  return `${reasons[kind]} (${detail})`;
}

/** The sentence for a moment: two holders as long as there are two, else what happened last. */
export function sentenceAt(sentences: readonly Sentence[], at: number): Sentence | undefined {
  const past = sentences.filter((sentence) => sentence.at <= at);
  return past.findLast(({ until = -1 }) => until > at) ?? past.at(-1);
}
