import type { Answer, Fault, Guard, Question, Reading, Sink } from "../protocol/node.ts";

/**
 * `keep`: for a lease that is held. `release`: gives one back. `request`: requests a new one, or only reads.
 * Questions that cannot all be sent go in this order (PROTOCOL 12.7).
 */
export type Purpose = "keep" | "release" | "request";

/** A question on its way to one master. */
export interface Posted {
  readonly question: Question;
  /** Goes back to the sink with the answer. */
  readonly place: number;
  readonly sink: Sink;
  readonly purpose: Purpose;
  /** Whether the master's clock is read behind it. */
  readonly readsTime: boolean;
  readonly asker: Asker;
}

/** The node of the master, by which a question is posted, with what it adds. */
export interface Asker {
  readonly guard?: Guard | undefined;
  /** The channel of its grants, "-" for none; `undefined` if its master keeps no queue. */
  readonly inbox?: string | undefined;
  /** Whether each question is sent in a command of its own, instead of with the others that wait. */
  readonly isAlone: boolean;
  /** Called once for each question. `reading`: that of the clock, if it was read behind the question. */
  settled(posted: Posted, answer: Answer, reading?: Reading | Fault): void;
}

export function settle(posted: Posted, answer: Answer, reading?: Reading | Fault): void {
  posted.asker.settled(posted, answer, reading);
}

/** Whether the question may be removed before it is sent. The check may read the clocks and end a lease. */
export function isAbandoned({ question: { claim } }: Posted): boolean {
  return claim?.abandoned === true;
}

/** Those that are not abandoned. The others are answered, and not sent. */
export function withoutAbandoned(all: readonly Posted[], fault: Fault): readonly Posted[] {
  return all.filter((posted) => {
    const isWanted = !isAbandoned(posted);
    if (!isWanted) settle(posted, fault);
    return isWanted;
  });
}

/** Whether no caller waits for the answer any more, as far as is known. */
export function isUnawaited({ question: { claim } }: Posted): boolean {
  return claim === undefined || claim.abandoned;
}
