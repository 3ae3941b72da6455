import { setTimeout as pause } from "node:timers/promises";
import type { Inspection, Redlock } from "@quorlock/redlock";
import { now } from "@quorlock/simulation/processes";
import type { Master } from "@quorlock/testbed";
import { listed, milliseconds, type Narrator } from "../fixture/narrator.ts";
import type { Hold, Ledger } from "./ledger.ts";
import type { Links } from "./links.ts";
import type { Staff } from "./staff.ts";
import { lease } from "./terms.ts";

/** The objects that the faults act on while the stock is sold. */
export interface FaultContext {
  readonly narrator: Narrator;
  readonly staff: Staff;
  readonly ledger: Ledger;
  readonly masters: readonly Master[];
  readonly links: Links;
  /** Has its own connections to all masters, which are never cut. */
  readonly watcher: Redlock;
}

/** When the signal of the cut-off holder aborted; times are on the machine's monotonic clock, ms. */
export interface CutOff {
  readonly worker: string;
  readonly at: number;
  readonly abortedAt: number;
  /** The start of the standstill, if the holder's process stood still when its signal was due: it then aborts late. */
  readonly standstill: number | undefined;
  /** The next hold of another worker. */
  readonly next: Hold;
}

export async function injectFaults(context: FaultContext): Promise<CutOff> {
  const { masters, narrator, staff } = context;
  const holder = staff.hangPayment(leftAtTheCut);
  if (masters.every(({ controllable }) => controllable)) await killAndHang(context);
  else
    narrator.event("spared", "yellow", "the masters: those of REDLOCK_NODES are not ours to kill or to hang");
  return cutOff(context, await holder);
}

/** Items left when the holder is cut off: after the masters have failed, and before the stock is sold out. */
const leftAtTheCut = 40;

const killed = 2;
const hung = 4;

/** Kills one master and hangs another, so that just a majority is left; then brings both back. */
async function killAndHang({ narrator, ledger, masters }: FaultContext): Promise<void> {
  await ledger.untilSold(10);
  await masters[killed - 1]!.kill();
  const killedAt = now();
  narrator.event("killed", "red", `master ${killed}; its data is lost. 4 of 5 are left; a lock needs 3`);

  await ledger.untilSold(20);
  await masters[hung - 1]!.hang();
  narrator.event("hung", "red", `master ${hung}: it accepts commands and answers none. 3 of 5 are left`);

  // The killed master has lost its votes. They must have expired before it votes again.
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

/** Cuts the holder off from a majority of its masters: connections stay open, but no data passes. */
async function cutOff(
  { narrator, staff, ledger, links, watcher }: FaultContext,
  worker: string,
): Promise<CutOff> {
  const holding = await watcher.inspect("stock");
  const owner = ownerOf(holding);
  const severed = keepersFirst(holding, owner).slice(0, majority);
  const aborted = staff.nextAbort();
  links.cut(worker, severed);
  const at = now();
  const which = listed(severed);
  narrator.event("cut", "red", `${worker} holds the lock and is cut off from masters ${which}`, at);
  narrator.event(
    "",
    "dim",
    `these masters keep the lock for ${milliseconds(keptFor(holding, owner, severed))} more`,
    at,
  );

  const { at: abortedAt, standstill } = await aborted;
  const asked = now();
  const left = keptFor(await watcher.inspect("stock"), owner, severed);
  const { sold } = await ledger.holdAt(at, worker);
  const after = `${milliseconds(abortedAt - at)} after the cut`;
  const end = sold ? "SELLS ALL THE SAME" : "sells nothing";
  if (standstill !== undefined)
    narrator.event(
      "stalled",
      "yellow",
      `${worker}'s process, for ${milliseconds(abortedAt - standstill)}`,
      standstill,
    );
  narrator.event("aborted", "green", `${worker}'s signal, ${after}: ${worker} ${end}`, abortedAt);
  // The masters were inspected a little after the abort; that delay is added.
  const kept = left > 0 ? `for ${milliseconds(left + asked - abortedAt)} more` : "no more";
  narrator.event("", "dim", `masters ${which} keep the lock ${kept}`, abortedAt);

  const next = await ledger.nextHold(at, worker);
  const order = next.granted > abortedAt ? "after" : "BEFORE";
  const later = `${milliseconds(Math.abs(next.granted - abortedAt))} ${order} ${worker}'s signal`;
  narrator.event("granted", "green", `${next.worker} gets the lock, ${later}`, next.granted);
  await links.heal(worker);
  narrator.event("healed", "cyan", `${worker} reaches all masters again`);
  return { worker, at, abortedAt, standstill, next };
}

/** The owner that most masters report. */
function ownerOf(inspections: readonly Inspection[]): string | undefined {
  const votes = new Map<string, number>();
  for (const { owner } of inspections) if (owner) votes.set(owner, (votes.get(owner) ?? 0) + 1);
  return [...votes].sort(([, a], [, b]) => b - a)[0]?.[0];
}

/** The numbers of the masters, sorted: first those with the owner's lock, then unreachable ones, then the others. */
function keepersFirst(inspections: readonly Inspection[], owner: string | undefined): number[] {
  const rank = (number: number): number => {
    const master = inspections[number - 1]!;
    if (master.unreachable) return 1;
    return master.owner === owner ? 0 : 2;
  };
  return inspections.map((_, index) => index + 1).sort((a, b) => rank(a) - rank(b) || a - b);
}

/**
 * The time for which the severed masters certainly keep the owner's lock, ms. The owner can still release the lock on the
 * other masters at any time, so the lock is free as soon as it expires on the first of the severed ones.
 */
function keptFor(
  inspections: readonly Inspection[],
  owner: string | undefined,
  severed: readonly number[],
): number {
  const keepers = severed.map((number) => inspections[number - 1]!);
  return Math.min(...keepers.map((master) => (master.owner === owner ? master.remaining : 0)));
}
