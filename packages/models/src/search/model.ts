import type { Layout, State } from "./layout.ts";

/** A protocol small enough to search every reachable state. */
export interface Model {
  readonly layout: Layout;
  readonly initial: readonly State[];
  /** Calls `step` for everything that can happen next. */
  steps(now: State, step: Step): void;
  /** The reason why `now` must not occur, if it must not. */
  violation(now: State): string | undefined;
  /** States that a search has to come by: one that does not has shown nothing. */
  readonly sights: Readonly<Record<string, (now: State) => boolean>>;
  /** A condition that stays reachable from every state, whatever faults came before, once there are no more faults. */
  readonly goal?: { readonly name: string; readonly reached: (now: State) => boolean } | undefined;
}

/** `story` describes the step in the words of the protocol; `change` applies it to a copy of the present state. */
export type Step = (story: () => string, change: (next: State) => void, kind?: "fault") => void;
