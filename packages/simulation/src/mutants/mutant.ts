import type { Runtime } from "@quorlock/redlock";
import type { Connection } from "@quorlock/redlock/internal";
import type * as LeadModule from "@quorlock/redlock/lead";
import type * as OnceModule from "@quorlock/redlock/once";
import type * as ReadWriteModule from "@quorlock/redlock/read-write-lock";
import type * as SemaphoreModule from "@quorlock/redlock/semaphore";
import type { Plan } from "../plan/plan.ts";
import type { ClientModule, Subject } from "../run/subject.ts";

/** The exports of a mutated copy of the client. */
export type MutatedModule = ClientModule &
  typeof LeadModule &
  typeof OnceModule &
  typeof SemaphoreModule &
  typeof ReadWriteModule;

/** One deliberate fault in the algorithm that the simulation has to find: in one place, or in those that make it together. */
export interface Mutant {
  /** A description of the fault, as in a code review. */
  readonly name: string;
  /** The rules of docs/protocol.md that it breaks. */
  readonly breaks: readonly string[];
  /** The seed that the search begins with: one that has shown it. If none is given, it is shown by one of the first. */
  readonly from?: number;
  /** The client's source is another. */
  readonly edits?: Edits;
  /** Files of packages/redlock/src, and their text in the mutant. */
  readonly files?: Readonly<Record<string, string>>;
  /** The client's scripts are others: texts in them, and what stands there in the mutant. */
  readonly lua?: Edits;
  /** All connections of one client, which lie to it or for it. */
  readonly connections?: (connections: readonly Connection[]) => readonly Connection[];
  /** The client is as it is: it is run by another plan than the one that is given. */
  readonly planOf?: (plan: Plan) => Plan;
  readonly runtime?: (runtime: Runtime) => Runtime;
  /** The primitive of the mutated client that is simulated; default: its locks. */
  readonly subjectOf?: (client: MutatedModule) => Omit<Subject, "name">;
}

/** Mutants by their names. */
export type MutantRows = Readonly<Record<string, Omit<Mutant, "name">>>;

/** Those of some tables as a list. `subjectOf`: for all of them. */
export function named(rows: MutantRows, subjectOf?: Mutant["subjectOf"]): readonly Mutant[] {
  const shared = subjectOf ? { subjectOf } : {};
  return Object.entries(rows).map(([name, row]) => ({ name, ...shared, ...row }));
}

/**
 * Parts of the client's source, and the text of each in the mutant, or what makes it of the old one. A part is found
 * by its file in packages/redlock/src and words that each lead further in, to exactly one place:
 *
 * - the number of a rule: what follows the comment that cites it (`// ... (PROTOCOL 2.6)`): a declaration, a
 *   statement, an operand;
 * - a name: what declares it, or else the property, the assignment, the call or the access of that name;
 * - `condition`, `value`, `body`, `argument`, `callee`, `statement`: see `parts` in `anchor.ts`.
 */
export type Edits = Readonly<Record<string, Change>>;

export type Change = string | ((original: string) => string);
