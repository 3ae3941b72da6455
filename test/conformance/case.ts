import type { Fixture } from "./fixture.ts";

/** One row of the table of what users meet, or one form of it. */
export interface Case {
  readonly row: number;
  readonly situation: string;
  /** The demand, in numbers, and the reason for them. */
  readonly bound: string;
  /** Default: 3. */
  readonly masters?: number;
  /** Waits far more than it works, so it may run beside others without disturbing their clocks. */
  readonly mostlyWaits?: boolean;
  run(fixture: Fixture): Promise<Verdict>;
}

/** The number of masters that a case plays on. */
export function mastersOf({ masters = 3 }: Case): number {
  return masters;
}

export interface Verdict {
  readonly conforms: boolean;
  /** The outcome, with the numbers, and the demand that was not met. */
  readonly observed: string;
}

/** `demands` are true where they were met. */
export function verdict(observed: string, demands: Readonly<Record<string, boolean>>): Verdict {
  const unmet = Object.entries(demands).filter(([, met]) => !met);
  const complaint = unmet.map(([demand]) => `NOT ${demand}`).join(", ");
  return { conforms: unmet.length === 0, observed: complaint ? `${observed} (${complaint})` : observed };
}

export function nameOf({ row, situation }: Case): string {
  return `row ${row}: ${situation}`;
}

export const rows: readonly number[] = Array.from({ length: 33 }, (_, index) => index + 1);
