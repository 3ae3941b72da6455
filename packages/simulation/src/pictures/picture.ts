/**
 * The content of a picture, as plain JSON: the only input of the page's script. All times are true time in us;
 * clients, masters, resources and texts are referred to by their index. Lists that grow with the run are lists of
 * tuples: they are most of the file.
 */
export interface Picture {
  /** The run ends here; faults and work ended at `calmFrom`. */
  readonly until: number;
  readonly calmFrom: number;
  /** After this there is nothing that one would look for: calm, a last lock on everything, the end of clients. */
  readonly activeUntil: number;
  /** ms */
  readonly ttl: number;
  readonly resources: readonly string[];
  readonly clients: readonly ClientTrack[];
  readonly masters: readonly MasterTrack[];
  /** In the order of their beginning. */
  readonly holds: readonly Hold[];
  readonly overlaps: readonly Overlap[];
  readonly violations: readonly DrawnViolation[];
  readonly faults: readonly DrawnFault[];
  /** In the order of sending. */
  readonly messages: readonly Message[];
  /** Messages that there was no room for. */
  readonly messagesLeftOut: number;
  /** Commands and replies. */
  readonly texts: readonly string[];
}

export type Span = readonly [from: number, until: number];

/** `suspended`: its monotonic clock stood still as well. `ended`: it is dead. `down`: a master that crashed. */
export type Standstill = "frozen" | "suspended" | "down" | "ended";

export type Pause = readonly [from: number, until: number, how: Standstill];

/** A stretch in which a wall clock goes at one rate: what it is off by at either end, ms, and its rate, ppm. */
export type ClockStretch = readonly [
  from: number,
  until: number,
  offset: number,
  offsetThen: number,
  rate: number,
];

export type Call = readonly [from: number, until: number, name: string, how: string];

interface Track {
  readonly name: string;
  readonly pauses: readonly Pause[];
  readonly clock: readonly ClockStretch[];
}

export interface ClientTrack extends Track {
  readonly calls: readonly Call[];
}

export interface MasterTrack extends Track {
  readonly keys: readonly Key[];
}

/** A key on a master. `client` is -1 if its owner is unknown; an infinite `expiry` is -1. */
export type Key = readonly [
  resource: number,
  client: number,
  /** Numbers tokens, from 0. */
  token: number,
  from: number,
  until: number,
  /** When it would have gone by the master's own clock. */
  expiry: number,
  end: "expired" | "deleted" | "overwritten" | "lost" | "kept",
];

/**
 * The interval in which a client holds a lock: from the moment at which its code has it until the release or the abort
 * of the signal.
 */
export interface Hold {
  /** As the checkers number it. */
  readonly number: number;
  readonly client: number;
  /** -1 where no master ever kept it. */
  readonly token: number;
  readonly resources: readonly number[];
  readonly from: number;
  readonly until: number;
  /** When its own client would have said that it holds. */
  readonly beliefs: readonly Span[];
  /** At a check of the lock: the time for which others were excluded beyond its own deadline, us. */
  readonly margins: ReadonlyArray<readonly [at: number, margin: number]>;
  readonly writes: ReadonlyArray<readonly [at: number, accepted: boolean]>;
}

/** Two holders of one resource at once. */
export interface Overlap {
  readonly resource: number;
  /** Indices of holds. */
  readonly holds: readonly [number, number];
  readonly from: number;
  readonly until: number;
}

/** The gravest first, then in the order of time. */
export interface DrawnViolation {
  readonly kind: string;
  readonly at: number;
  readonly detail: string;
}

export interface DrawnFault {
  readonly kind: string;
  readonly from: number;
  /** The same as `from` where it takes no time. */
  readonly until: number;
  readonly words: string;
}

/** -1 is never. */
export type Message = readonly [
  client: number,
  master: number,
  sent: number,
  /** When the master executed it. */
  ran: number,
  /** When the client had its reply. */
  heard: number,
  /** When the client learnt that it would have none. */
  lost: number,
  command: number,
  reply: number,
  /** That it speaks of; -1 is none. */
  token: number,
];
