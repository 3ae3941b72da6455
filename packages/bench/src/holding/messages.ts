import type { ContenderTerms } from "../contenders/contender.ts";

export interface HoldingTask {
  readonly contender: string;
  readonly terms: ContenderTerms;
  /** What the names of the resources begin with. */
  readonly prefix: string;
  readonly count: number;
}

export interface WaitingTask extends HoldingTask {
  /** All wait for one resource; else each for one of its own. */
  readonly isShared: boolean;
}

/** Everything is held, or waits. */
export interface Settled {
  readonly kind: "settled";
  /** What that took, ms. */
  readonly milliseconds: number;
  /** Heap in use for each. */
  readonly bytesEach: number;
  /** Of one that holds: without what its caller's routine and an abort signal take. */
  readonly bytesOfItsOwn?: number;
}

/** "watch": spend so many ms holding, and tell what it cost. */
export interface WatchOrder {
  readonly kind: "watch";
  readonly milliseconds: number;
}

export interface Watched {
  readonly kind: "watched";
  /** Microseconds. */
  readonly clientCpu: number;
}

/** What became of leases that were asked for in one turn. */
export interface Counted {
  readonly kind: "counted";
  /** Until each was held or refused, ms. */
  readonly milliseconds: number;
  /** At the end. */
  readonly held: number;
  readonly lost: number;
  readonly refused: number;
  /** What had passed of a ttl at most when an extension was confirmed, ms. */
  readonly latest: number;
  /** Events while they were asked for and held, and while `quit` gave them back. */
  readonly errors: number;
  readonly quitErrors: number;
  /** Of both, those that tell of a master that could not be reached. */
  readonly unreachable: number;
  /** How long that took, ms. */
  readonly quit: number;
}

export type HoldingMessage = Settled | Watched | Counted;
