import type { Violation, ViolationKind } from "../checkers/findings.ts";

/** The most telling kinds come first: any violation also breaks the margin. */
const order: readonly ViolationKind[] = ["effect", "belief", "fencing", "ownership", "expired", "untold"];

/** The violation that a run is about. */
export function mostTelling(violations: readonly Violation[]): Violation | undefined {
  for (const kind of order) {
    const found = violations.find((violation) => violation.kind === kind);
    if (found) return found;
  }
  return violations[0];
}
