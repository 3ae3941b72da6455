import { maxRecordedLocks } from "@quorlock/redlock/internal";
import { counted, escaped, type Paint } from "../output.ts";
import { hasQuorum } from "./ask.ts";
import { isHeld, type LockView, type Overview, type ReadWriteView, type SemaphoreView } from "./look.ts";
import type { OwnerView } from "./owners.ts";
import type { Change } from "./watch.ts";

/** `billing-7 (pid 31, host a)`; of an owner without a record the tag. */
export function titleOf({ tag, name, host, pid }: OwnerView): string {
  if (name !== undefined) return escaped(`${name} (pid ${pid}, host ${host ?? ""})`);
  return /^[\da-f]{8}$/.test(tag) ? tag : `${escaped(tag)}… (no token)`;
}

/** The holder, in a few words. */
export function holderOf({ state, owner, revokedBy, answered, of, others }: LockView): string {
  const name = owner ? titleOf(owner) : "";
  return {
    held: name,
    "owner-gone": `${name}, owner gone`,
    revoked: `revoked by ${escaped(revokedBy ?? "")}`,
    free: "free",
    // A master in quarantine does not know whether somebody holds it.
    "no-quorum": `no quorum: ${others.some(({ says }) => says === "QUARANTINE") ? "" : "nobody holds it, "}nobody can take it`,
    unknown: unknown(answered, of),
  }[state];
}

function unknown(answered: number, of: number): string {
  const why = answered === of ? "masters have restarted, and may have forgotten it" : undefined;
  return `unknown: ${why ?? `${answered} of ${counted(of, "master")} answered`}`;
}

/** The masters without an answer; and, if the others are no quorum, that more may be held than is known. */
function silentLines({ of, silent }: Pick<Overview, "of" | "silent">, paint: Paint): readonly string[] {
  const lines = silent.map(({ master, error }) =>
    paint("yellow", `${escaped(master)}: no answer (${escaped(error)})`),
  );
  return hasQuorum({ of, silent }) ? lines : [...lines, paint("red", unknown(of - silent.length, of))];
}

/** A time in the largest unit that shows it well. */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function remainingOf({ remaining }: LockView): string {
  return remaining === null ? "no expiry" : duration(remaining);
}

/** One lock, for people. `now`: ms since the epoch. */
export function lockReport(lock: LockView, now: number, paint: Paint): readonly string[] {
  const { resource, state, owner, revokedBy, since, masters, of, others, waiters, waiting } = lock;
  const by = owner ? titleOf(owner) : revokedBy === undefined ? "" : `revoked by ${escaped(revokedBy)}`;
  const lines = [
    `${paint("bold", escaped(resource))}: ${state === "held" || state === "owner-gone" ? "held by " : ""}${holderOf(lock)}`,
  ];
  if (masters > 0) {
    if (since !== undefined) lines.push(`  held for   ${duration(Math.max(0, now - since))}`);
    const end = lock.remaining === null ? "never" : `in ${remainingOf(lock)}`;
    lines.push(`  expires    ${end}${state === "held" ? ", unless it is extended" : ""}`);
    const share = `${masters} of ${counted(of, "master")}`;
    lines.push(`  on         ${isHeld(state) ? share : paint("red", `${share}: ${by}`)}`);
  }
  for (const { master, says } of others)
    lines.push(paint("yellow", `  ${escaped(master)} says ${escaped(says)}`));
  for (const [place, waiter] of waiters.entries())
    lines.push(`  ${place === 0 ? "waiting" : "       "}    ${place + 1}. ${titleOf(waiter)}`);
  if (waiting > waiters.length) lines.push(`             and ${waiting - waiters.length} more`);
  return lines;
}

/** Whole in `--json` and by `inspect`. (Half of a surrogate pair would be no character.) */
const shortened = (name: string, most: number): string =>
  name.length > most ? `${name.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : name;

/** A table of the locks, for people. */
export function listReport(
  { locks, owners, silent, of, scanned }: Overview,
  now: number,
  paint: Paint,
): readonly string[] {
  const head = ["RESOURCE", "OWNER", "HELD FOR", "EXPIRES IN", "MASTERS", "WAITING"];
  const rows = locks.map((lock) => [
    shortened(escaped(lock.resource), 60),
    shortened(holderOf(lock), 120),
    lock.since === undefined ? "" : duration(Math.max(0, now - lock.since)),
    remainingOf(lock),
    `${lock.masters}/${lock.of}`,
    String(lock.waiting),
  ]);
  const widths = head.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]!.length), title.length),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  const none = scanned
    ? "no lock was found"
    : "no owner has recorded a lock (one is recorded after 10 to 20 s)";
  const empty = hasQuorum({ of, silent }) ? [none] : [];
  const table = rows.length === 0 ? empty : [paint("bold", line(head)), ...rows.map(line)];
  return [
    ...table,
    ...(scanned ?? []).map(({ master, looked, of: keys, unread, refusal }) => {
      if (refusal !== undefined) return paint("red", `${escaped(master)}: not searched (${refusal})`);
      const hidden = unread > 0 ? `, may not read ${unread} of them` : "";
      const share = `${escaped(master)}: looked at ${looked} of ${counted(keys, "key")}${hidden}`;
      return looked < keys ? paint("yellow", `${share}: more with --limit or --timeout`) : share;
    }),
    ...owners
      .filter((owner) => owner.locks.length >= maxRecordedLocks)
      .map((owner) =>
        paint("yellow", `${titleOf(owner)} may hold more: its record has its ${maxRecordedLocks} oldest`),
      ),
    ...silentLines({ silent, of }, paint),
    counted(owners.length, "owner"),
  ];
}

export function semaphoreReport(
  { semaphore, limit, held, blocked, unknown: open, waiters, waiting, ...answers }: SemaphoreView,
  now: number,
  paint: Paint,
): readonly string[] {
  return [
    `${paint("bold", escaped(semaphore))}: ${held.length} of ${counted(limit, "permit")} held${blocked.length > 0 ? `, nobody can take ${blocked.length}` : ""}${open > 0 ? `, unknown of ${open}` : ""}`,
    ...[...held, ...blocked].flatMap((lock) => lockReport({ ...lock, waiters: [], waiting: 0 }, now, paint)),
    ...waiters.map((waiter, place) => `waiting ${place + 1}. ${titleOf(waiter)}`),
    ...(waiting > waiters.length ? [`and ${waiting - waiters.length} more`] : []),
    ...silentLines(answers, paint),
  ];
}

export function readWriteReport(
  { readWriteLock, writer, readers, areAllKnown, of, silent }: ReadWriteView,
  now: number,
  paint: Paint,
): readonly string[] {
  const isListed = (name: string): boolean => writer.others.some(({ master }) => master === name);
  const more = silent.filter(({ master }) => !isListed(master));
  // It is free only if a quorum says that it has no readers either.
  const state = writer.state === "free" && !areAllKnown ? ("unknown" as const) : writer.state;
  const lock = {
    ...writer,
    state,
    resource: readWriteLock,
    answered: of - silent.length,
    // (Readers that a quorum has are listed.)
    others: [...writer.others, ...more.map(({ master, error }) => ({ master, says: error }))].filter(
      ({ says }) => readers.length === 0 || !/^\d+ readers?$/.test(says),
    ),
  };
  const lines = lockReport(lock, now, paint);
  if (readers.length === 0) return lines;
  return [
    `${paint("bold", escaped(readWriteLock))}: ${counted(readers.length, "reader")}`,
    ...readers.map((reader) => `  reading    ${titleOf(reader)}`),
    ...lines.slice(1),
  ];
}

/** A change on one line. */
export function changeReport({ time, change, resource, master, error, lock }: Change, paint: Paint): string {
  const colours = {
    held: "green",
    "owner-gone": "yellow",
    unknown: "yellow",
    free: "dim",
    waiting: "dim",
    revoked: "yellow",
    "no-quorum": "red",
    unreachable: "red",
    reachable: "green",
  } as const;
  const what = paint(colours[change], change.padEnd(11));
  const waiters =
    lock && lock.waiting > 0 ? `, ${lock.waiting} waiting: ${lock.waiters.map(titleOf).join(", ")}` : "";
  const by = lock && change !== "free" ? `  ${holderOf(lock)}${waiters}` : error && ` (${error})`;
  return `${time}  ${what}  ${escaped(resource ?? master ?? "")}${by ?? ""}`;
}
