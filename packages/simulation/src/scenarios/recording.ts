import type { TraceValue } from "../engine/trace.ts";

/** From the grant of a lock to its release, or the abort of its signal. Times are true time, ms. */
export interface RecordedHold {
  readonly client: number;
  readonly resource: string;
  readonly begins: number;
  /** Infinite where it never gave up. */
  ends: number;
  readonly writes: number[];
}

/** A key that a client set or extended on a master. */
export interface RecordedVote {
  readonly at: number;
  readonly master: number;
  readonly client: number;
  readonly resource: string;
  readonly value: string;
}

/** The events of a run that scenarios ask for, drawn from the trace alone. */
export class Recording {
  readonly holds: RecordedHold[] = [];
  readonly votes: RecordedVote[] = [];
  /** When each fault struck, in order. */
  readonly faults: number[] = [];
  readonly #holdsByNumber = new Map<TraceValue, RecordedHold>();

  /** To be given to `runPlan` as its `onEvent`. */
  readonly see = (time: number, [actor, verb, ...args]: readonly TraceValue[]): void => {
    const at = time / 1000;
    if (actor === "fault") this.faults.push(at);
    else if (verb === "begins") this.#begin(at, numberIn(actor!), args);
    else if (verb === "gives up") this.#hold(args[0]!).ends = at;
    else if (verb === "writes") this.#hold(args[1]!).writes.push(at);
    else if (verb === "keeps") this.#vote(at, numberIn(actor!), args);
  };

  #begin(at: number, client: number, [number, , resource]: readonly TraceValue[]): void {
    const hold = {
      client,
      resource: String(resource),
      begins: at,
      ends: Number.POSITIVE_INFINITY,
      writes: [],
    };
    this.#holdsByNumber.set(number!, hold);
    this.holds.push(hold);
  }

  #vote(at: number, master: number, [resource, value, , client]: readonly TraceValue[]): void {
    this.votes.push({
      at,
      master,
      client: numberIn(client!),
      resource: String(resource),
      value: String(value),
    });
  }

  #hold(number: TraceValue): RecordedHold {
    const hold = this.#holdsByNumber.get(number);
    if (!hold) throw new Error(`the trace has hold ${number}, which never began`);
    return hold;
  }
}

/** `client-3` is 3. */
function numberIn(name: TraceValue): number {
  return Number(String(name).split("-")[1]);
}
