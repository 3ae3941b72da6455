import { escaped, type Paint } from "../output.ts";
import type { LockView, Overview, OwnerView, ReadWriteView, SemaphoreView } from "./look.ts";
import type { Change } from "./watch.ts";

/** `billing-7 (pid 31, host a)`; of an owner without a record the tag. */
export function titleOf({ tag, name, host, pid }: OwnerView): string {
  return name === undefined ? tag : `${escaped(name)} (pid ${pid}, host ${escaped(host ?? "")})`;
}

export function holderOf({ owner, revokedBy }: LockView): string {
  if (revokedBy !== undefined) return `revoked by ${escaped(revokedBy)}`;
  return owner ? titleOf(owner) : "free";
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
  const { resource, owner, revokedBy, since, masters, of, others, waiters, waiting } = lock;
  const isFree = !owner && revokedBy === undefined;
  const lines = [`${paint("bold", escaped(resource))}: ${isFree ? "free" : `held by ${holderOf(lock)}`}`];
  if (!isFree) {
    if (since !== undefined) lines.push(`  held for   ${duration(Math.max(0, now - since))}`);
    lines.push(`  expires    in ${remainingOf(lock)}, unless it is extended`);
    const share = `${masters} of ${of} masters`;
    lines.push(`  on         ${masters > of / 2 ? share : paint("red", `${share}: no quorum`)}`);
  }
  for (const { master, says } of others)
    lines.push(paint("yellow", `  ${escaped(master)} says ${escaped(says)}`));
  for (const [place, waiter] of waiters.entries())
    lines.push(`  ${place === 0 ? "waiting" : "       "}    ${place + 1}. ${titleOf(waiter)}`);
  if (waiting > waiters.length) lines.push(`             and ${waiting - waiters.length} more`);
  return lines;
}

/** A table of the locks, for people. */
export function listReport(
  { locks, owners, silent, scanned }: Overview,
  now: number,
  paint: Paint,
): readonly string[] {
  const head = ["RESOURCE", "OWNER", "HELD FOR", "EXPIRES IN", "MASTERS", "WAITING"];
  const rows = locks.map((lock) => [
    escaped(lock.resource),
    holderOf(lock),
    lock.since === undefined ? "" : duration(Math.max(0, now - lock.since)),
    remainingOf(lock),
    `${lock.masters}/${lock.of}`,
    String(lock.waiting),
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  const none = scanned ? "no lock was found" : "no lock has been held for 10 s";
  const table = rows.length === 0 ? [none] : [paint("bold", line(head)), ...rows.map(line)];
  return [
    ...table,
    ...(scanned ?? []).map(({ master, looked, of }) => {
      const share = `${escaped(master)}: looked at ${looked} of ${of} keys`;
      return looked < of ? paint("yellow", `${share}: more with --limit or --timeout`) : share;
    }),
    ...silent.map(({ master, error }) => paint("yellow", `${escaped(master)}: no answer (${error})`)),
    `${owners.length} owners`,
  ];
}

export function semaphoreReport(
  { semaphore, limit, held, waiters }: SemaphoreView,
  now: number,
  paint: Paint,
): readonly string[] {
  return [
    `${paint("bold", escaped(semaphore))}: ${held.length} of ${limit} permits are held`,
    ...held.flatMap((lock) => lockReport({ ...lock, waiters: [], waiting: 0 }, now, paint)),
    ...waiters.map((waiter, place) => `waiting ${place + 1}. ${titleOf(waiter)}`),
  ];
}

export function readWriteReport(
  { readWriteLock, writer, readers }: ReadWriteView,
  now: number,
  paint: Paint,
): readonly string[] {
  if (readers.length === 0) return lockReport({ ...writer, resource: readWriteLock }, now, paint);
  const waiting = lockReport({ ...writer, resource: readWriteLock }, now, paint).slice(1);
  return [
    `${paint("bold", escaped(readWriteLock))}: ${readers.length} reader${readers.length === 1 ? "" : "s"}`,
    ...readers.map((reader) => `  reading    ${titleOf(reader)}`),
    ...waiting,
  ];
}

/** A change on one line. */
export function changeReport({ time, change, resource, master, lock }: Change, paint: Paint): string {
  const colours = {
    held: "green",
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
  const by = lock && change !== "free" ? `  ${holderOf(lock)}${waiters}` : "";
  return `${time}  ${what}  ${escaped(resource ?? master ?? "")}${by}`;
}
