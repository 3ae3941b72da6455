import type { Layout, State } from "./layout.ts";

/** A protocol small enough to look at every state that it can come to. */
export interface Model {
  readonly layout: Layout;
  readonly initial: readonly State[];
  /** Calls `step` for everything that can happen next. */
  steps(now: State, step: Step): void;
  /** What must never be, if it is. */
  violation(now: State): string | undefined;
  /** States that a search has to come by: one that does not has shown nothing. */
  readonly sights: Readonly<Record<string, (now: State) => boolean>>;
  /** What can still come about from every state, whatever went wrong before, once nothing goes wrong any more. */
  readonly goal?: { readonly name: string; readonly reached: (now: State) => boolean } | undefined;
}

/** `story` tells it in the words of the protocol; `change` makes it happen to a copy of the present state. */
export type Step = (story: () => string, change: (next: State) => void, kind?: "fault") => void;
