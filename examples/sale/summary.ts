import { listed, milliseconds, type Narrator } from "../fixture/narrator.ts";
import type { CutOff } from "./faults.ts";
import type { Ledger } from "./ledger.ts";
import { stockSize, workers } from "./terms.ts";

/** The result of one sale. */
export interface Outcome<T> {
  readonly ledger: Ledger;
  readonly duration: number;
  /** The result of the faults injected meanwhile. */
  readonly happened: T;
}

/** Prints the summary. Returns true if the lock kept all its promises. */
export function summarise(
  narrator: Narrator,
  withLock: Outcome<CutOff>,
  withoutLock: Outcome<unknown>,
): boolean {
  const cutOff = withLock.happened;
  const soldOut = withLock.ledger.sold === stockSize && withLock.ledger.oversold === 0;
  // A suspended process cannot receive its signal; then it counts as notified from the start of the standstill.
  const {
    abortedAt,
    standstill = abortedAt,
    next: { granted },
  } = cutOff;
  const isNotified = Math.min(abortedAt, standstill) < granted;
  const exclusive = withLock.ledger.mostAtOnce === 1 && isNotified;
  const shares = workers.map((worker) => `${worker} ${withLock.ledger.soldBy(worker)}`);
  const delay = milliseconds(cutOff.abortedAt - cutOff.at);
  const margin = milliseconds(Math.abs(cutOff.next.granted - cutOff.abortedAt));
  const order = cutOff.abortedAt < cutOff.next.granted ? "before" : "AFTER";
  narrator.heading("Summary");
  narrator.line(row(narrator, "with the lock", withLock, soldOut && exclusive));
  narrator.line(row(narrator, "without the lock", withoutLock, false));
  narrator.line("");
  narrator.line(
    `  ${cutOff.worker}'s signal aborted ${delay} after the cut, ${margin} ${order} ${cutOff.next.worker} got the lock.`,
  );
  narrator.line(`  Sold with the lock: ${listed(shares)}.`);
  narrator.line("  All processes have ended.");
  return soldOut && exclusive;
}

function row(narrator: Narrator, name: string, outcome: Outcome<unknown>, isGood: boolean): string {
  const { ledger, duration } = outcome;
  const colour = isGood ? "green" : "red";
  const numbers = `sold ${`${ledger.sold}`.padStart(4)}   oversold ${`${ledger.oversold}`.padStart(4)}`;
  const stay = `at most ${ledger.mostAtOnce} at a time`;
  const seconds = `${(duration / 1000).toFixed(1).padStart(4)} s`;
  return `  ${name.padEnd(18)}${narrator.paint(colour, `${numbers}   ${stay}`)}   ${seconds}`;
}
