import { setTimeout as pause } from "node:timers/promises";
import type { Inspection, Redlock } from "@quorlock/redlock";
import type { Master } from "@quorlock/testbed";
import { now } from "../stage/clock.ts";
import { listed, milliseconds, type Narrator } from "../stage/narrator.ts";
import type { Hold, Ledger } from "./ledger.ts";
import type { Lines } from "./lines.ts";
import type { Staff } from "./staff.ts";
import { lease } from "./terms.ts";

/** What goes wrong while the stock is sold, and when. */
export interface Misfortune {
  readonly narrator: Narrator;
  readonly staff: Staff;
  readonly ledger: Ledger;
  readonly masters: readonly Master[];
  readonly lines: Lines;
  /** Sees all masters, whoever is cut off. */
  readonly watcher: Redlock;
}

/** How the holder that was cut off learnt of it; moments on the machine's monotonic clock, ms. */
export interface CutOff {
  readonly worker: string;
  readonly at: number;
  readonly told: number;
  /** Since when its process had not run, if it stood still when its signal was due. Then the signal aborts late. */
  readonly standstill: number | undefined;
  /** Who had the lock next. */
  readonly next: Hold;
}

export async function strike(misfortune: Misfortune): Promise<CutOff> {
  const { masters, narrator, staff } = misfortune;
  const holder = staff.hangPayment(leftAtTheCut);
  if (masters.every(({ controllable }) => controllable)) await killAndHang(misfortune);
  else
    narrator.event("spared", "yellow", "the masters: those of REDLOCK_NODES are not ours to kill or to hang");
  return cutOff(misfortune, await holder);
}

/** Items left when the holder is cut off: fewer than when the masters fail, and not the last ones. */
const leftAtTheCut = 40;

const killed = 2;
const hung = 4;

/** One master dies and another one hangs, so that just a majority is left; then both come back. */
async function killAndHang({ narrator, ledger, masters }: Misfortune): Promise<void> {
  await ledger.untilSold(10);
  await masters[killed - 1]!.kill();
  const killedAt = now();
  narrator.event("killed", "red", `master ${killed}; its data is lost. 4 of 5 are left; a lock needs 3`);

  await ledger.untilSold(20);
  await masters[hung - 1]!.hang();
  narrator.event("hung", "red", `master ${hung}: it accepts commands and answers none. 3 of 5 are left`);

  // It has forgotten its votes. None of them may still be in force when it votes again.
  await pause(Math.max(0, killedAt + lease - now()));
  await masters[killed - 1]!.restart();
  const down = milliseconds(now() - killedAt);
  narrator.event(
    "back",
    "cyan",
    `master ${killed}, empty, after ${down}: every vote that it lost has expired`,
  );
  await masters[hung - 1]!.resume();
  narrator.event("back", "cyan", `master ${hung}: it executes the commands that it received meanwhile`);
}

const majority = 3;

/** A holder loses most of its masters, silently: nothing is refused, nothing arrives. */
async function cutOff(
  { narrator, staff, ledger, lines, watcher }: Misfortune,
  worker: string,
): Promise<CutOff> {
  const holding = await watcher.inspect("stock");
  const owner = ownerOf(holding);
  const severed = keepersFirst(holding, owner).slice(0, majority);
  const told = staff.told();
  lines.cut(worker, severed);
  const at = now();
  const which = listed(severed);
  narrator.event("cut", "red", `${worker} holds the lock and is cut off from masters ${which}`, at);
  narrator.event(
    "",
    "dim",
    `these masters keep the lock for ${milliseconds(keptFor(holding, owner, severed))} more`,
    at,
  );

  const { at: toldAt, standstill } = await told;
  const asked = now();
  const left = keptFor(await watcher.inspect("stock"), owner, severed);
  const { sold } = await ledger.holdAt(at, worker);
  const after = `${milliseconds(toldAt - at)} after the cut`;
  const end = sold ? "SELLS ALL THE SAME" : "sells nothing";
  if (standstill !== undefined)
    narrator.event(
      "stalled",
      "yellow",
      `${worker}'s process, for ${milliseconds(toldAt - standstill)}`,
      standstill,
    );
  narrator.event("aborted", "green", `${worker}'s signal, ${after}: ${worker} ${end}`, toldAt);
  // They were asked a little later than that, and had the more left before.
  const kept = left > 0 ? `for ${milliseconds(left + asked - toldAt)} more` : "no more";
  narrator.event("", "dim", `masters ${which} keep the lock ${kept}`, toldAt);

  const next = await ledger.nextHold(at, worker);
  const order = next.granted > toldAt ? "after" : "BEFORE";
  const later = `${milliseconds(Math.abs(next.granted - toldAt))} ${order} ${worker}'s signal`;
  narrator.event("granted", "green", `${next.worker} gets the lock, ${later}`, next.granted);
  await lines.heal(worker);
  narrator.event("healed", "cyan", `${worker} reaches all masters again`);
  return { worker, at, told: toldAt, standstill, next };
}

/** Whoever most masters name. */
function ownerOf(inspections: readonly Inspection[]): string | undefined {
  const votes = new Map<string, number>();
  for (const { owner } of inspections) if (owner) votes.set(owner, (votes.get(owner) ?? 0) + 1);
  return [...votes].sort(([, a], [, b]) => b - a)[0]?.[0];
}

/** The numbers of the masters: those that keep the owner's lock, those that may, and those that do not. */
function keepersFirst(inspections: readonly Inspection[], owner: string | undefined): number[] {
  const rank = (number: number): number => {
    const master = inspections[number - 1]!;
    if (master.unreachable) return 1;
    return master.owner === owner ? 0 : 2;
  };
  return inspections.map((_, index) => index + 1).sort((a, b) => rank(a) - rank(b) || a - b);
}

/**
 * For how long the severed masters certainly keep the owner's lock, ms. The others may let go of it at any time:
 * the owner can still release it there. So the first of the severed ones makes a majority free.
 */
function keptFor(
  inspections: readonly Inspection[],
  owner: string | undefined,
  severed: readonly number[],
): number {
  const keepers = severed.map((number) => inspections[number - 1]!);
  return Math.min(...keepers.map((master) => (master.owner === owner ? master.remaining : 0)));
}
