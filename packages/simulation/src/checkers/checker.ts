import type { ClockEvent } from "@quorlock/redlock";
import type { Kernel } from "../engine/kernel.ts";
import type { Process } from "../engine/process.ts";
import type { Write } from "../master/keyspace.ts";
import type { Master } from "../master/master.ts";
import type { Plan } from "../plan/plan.ts";
import type { SubjectLock } from "../run/subject.ts";
import type { Findings, Mark, ViolationKind } from "./findings.ts";
import type { LockInterval } from "./lock-interval.ts";
import type { Wait } from "./wait.ts";

/** The attempts of an extension, as the client tells them. */
export type Attempts = ReadonlyArray<Promise<{ readonly votesFor: ReadonlySet<unknown> }>>;

/** The events that checkers see, with their contents. An event of a client is seen in a turn of its process. */
interface Seen {
  /** A client's code has a lock: by the call that waited for it; or another client has handed it over. */
  held: { interval: LockInterval; wait: Wait | undefined; isGranted: boolean };
  /** Its holder has looked at it, had time left, and acts. */
  acted: { interval: LockInterval };
  /** It is asked for, or about to be extended, with this ttl. */
  "asked for": { lock: SubjectLock; ttl: number };
  /** A call that extends, which began at `begun`, has these attempts. */
  extended: { interval: LockInterval; begun: number; attempts: Attempts; isHeld: boolean };
  /** Its holder is told that it is lost. */
  told: { interval: LockInterval };
  /** It was released, or lost, or its holder is dead. */
  over: { interval: LockInterval };
  /** The lock of a token was handed over. */
  given: { to: Process; token: string };
  /** A client's own words: of a master without a vote, or of a clock. */
  error: { client: Process; reason: string };
  "clock told": { client: Process; event: ClockEvent };
  /** It hears what the clock of a master showed when it had been set so far, ms; asked at `sentAt`, us. */
  "time heard": { client: Process; master: Master; steppedBy: number; sentAt: number };
  killed: { client: Process };
  /** A fault freezes it; and one brings it what was sent last to another. */
  paused: { client: Process };
  repeated: { client: Process };
  /** A fault has begun, and is over in `lasting` ms. */
  fault: { lasting: number };
  /** A vote with this token joined the queue, or would have. */
  enqueued: { token: string };
  wrote: { master: Master; write: Write; sender: Process };
  /** A command is over that wrote to these keys. */
  ran: { master: Master; written: Iterable<string> };
  /** The workload and its faults are over. */
  calm: object;
  /** Keys were taken from masters by a fault. */
  harmed: object;
}

export type RunEvent = { [Name in keyof Seen]: { readonly is: Name } & Readonly<Seen[Name]> }[keyof Seen];

/** The run that is judged. */
export interface Judged {
  readonly plan: Plan;
  readonly kernel: Kernel;
  readonly findings: Findings;
  readonly masters: readonly Master[];
  /** The list of each client: others with the same list win a quorum of it. */
  mastersOf(client: Process): readonly Master[];
  linksOf(
    client: Process,
  ): ReadonlyArray<{ readonly commands: { readonly connection: { readonly client: object } } }>;
  /** Whether it would lock in another database than the others do. */
  isElsewhere(client: Process): boolean;
  /** Tells every checker. */
  see(event: RunEvent): void;
}

/** Judges a run by what it sees of it. */
export abstract class Checker {
  protected readonly run: Judged;

  constructor(run: Judged) {
    this.run = run;
  }

  abstract see(event: RunEvent): void;

  protected violated(kind: ViolationKind, detail: string): void {
    this.run.findings.violated(kind, detail);
  }

  protected reached(mark: Mark): void {
    this.run.findings.reached(mark);
  }

  /** What the code of a turn does: in a turn that was stalled, only when the stall is over. `time`: what it was then for the process. */
  protected whenAwake(process: Process, act: () => void, time: number = process.now): void {
    const wait = Math.round(time - this.run.kernel.now);
    const unlessDead = (): void => (process.isDead ? undefined : act());
    if (wait <= 0) act();
    else this.run.kernel.engine.schedule(unlessDead, wait);
  }

  /** Judges what is left when the run is over. */
  end(): void {}
}
