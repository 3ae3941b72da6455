import type { Runtime } from "@quorlock/redlock";
import type { Connection } from "@quorlock/redlock/internal";
import type { Rules } from "../master/twins/rules.ts";

/** One deliberate fault in the algorithm, that the simulation has to find. */
export type Mutant = SourceMutant | InjectedMutant;

interface Described {
  /** A description of the fault, as in a code review. */
  readonly name: string;
}

/** One line of the client's source is another. */
export interface Edit {
  /** In packages/redlock/src. */
  readonly file: string;
  /** Occurs exactly once in that file; the build of the mutant fails otherwise. */
  readonly line: string;
  readonly instead: string;
}

/** The fault is in the client's source, in one place or in those that make it together. */
export interface SourceMutant extends Described {
  readonly edits: readonly Edit[];
  /** The changed decisions of the scripts, if the edits are in their text. */
  readonly rules?: Partial<Rules>;
}

/** The client is as it is, and what it is given lies to it or for it. */
export interface InjectedMutant extends Described {
  /** All connections of one client. */
  readonly connections?: (connections: readonly Connection[]) => readonly Connection[];
  readonly runtime?: (runtime: Runtime) => Runtime;
}
