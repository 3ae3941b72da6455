import type { TraceValue } from "../engine/trace.ts";
import type { ClockTrack } from "./clock-track.ts";
import type { Numbering } from "./numbering.ts";
import type { Hold, Span } from "./picture.ts";

interface OpenHold {
  readonly number: number;
  readonly client: number;
  readonly value: string;
  readonly resources: readonly string[];
  readonly from: number;
  until: number | undefined;
  readonly beliefs: Span[];
  readonly margins: Array<readonly [number, number]>;
  readonly writes: Array<readonly [number, boolean]>;
}

/** Every lease of every client: the time in which its holder observed it as held, its margin and its writes. */
export class HoldsDrawing {
  readonly #resources: Numbering;
  readonly #clocks: readonly ClockTrack[];
  readonly #holds = new Map<number, OpenHold>();

  /** `clocks`: of the clients. */
  constructor(resources: Numbering, clocks: readonly ClockTrack[]) {
    this.#resources = resources;
    this.#clocks = clocks;
  }

  see(at: number, client: number, verb: string, args: readonly TraceValue[]): void {
    if (verb === "begins") {
      const [number, value, ...resources] = args;
      this.#begin(at, client, Number(number), String(value), resources.map(String));
      return;
    }
    const hold = this.#holds.get(Number(verb === "writes" || verb === "is turned away" ? args[1] : args[0]));
    if (!hold) return;
    if (verb === "believes") this.#believe(hold, at, Number(args[1]), Number(args[2]));
    else if (verb === "is over") this.#doubt(hold, at);
    else if (verb === "margin") this.#measure(hold, at, Number(args[2]));
    else if (verb === "writes") hold.writes.push([at, true]);
    else if (verb === "is turned away") hold.writes[hold.writes.length - 1] = [at, false];
    else if (verb === "gives up") {
      this.#doubt(hold, at);
      hold.until = at;
    }
  }

  finish(at: number, tokens: Numbering): readonly Hold[] {
    return [...this.#holds.values()]
      .sort((left, right) => left.from - right.from)
      .map(({ value, resources, until = at, ...hold }) => ({
        ...hold,
        until,
        token: tokens.find(value),
        resources: resources.map((resource) => this.#resources.numberOf(resource)),
        beliefs: hold.beliefs.map(([from, end]): Span => [from, Math.min(end, at)]),
      }));
  }

  #begin(from: number, client: number, number: number, value: string, resources: readonly string[]): void {
    this.#holds.set(number, {
      number,
      client,
      value,
      resources,
      from,
      until: undefined,
      beliefs: [],
      margins: [],
      writes: [],
    });
  }

  /** It believes until either of its clocks gets there (us by those clocks). */
  #believe(hold: OpenHold, at: number, monotonicEnd: number, wallEnd: number): void {
    const clock = this.#clocks[hold.client]!;
    const end = Math.min(
      clock.first("monotonic", monotonicEnd / 1000, at),
      clock.first("wall", wallEnd / 1000, at),
    );
    const last = hold.beliefs.at(-1);
    if (last && last[1] >= at) hold.beliefs.pop();
    const from = last && last[1] >= at ? last[0] : at;
    hold.beliefs.push([from, Number.isFinite(end) ? Math.floor(end) : Number.MAX_SAFE_INTEGER]);
  }

  #doubt({ beliefs }: OpenHold, at: number): void {
    const last = beliefs.at(-1);
    if (!last || last[1] <= at) return;
    beliefs.pop();
    beliefs.push([last[0], at]);
  }

  #measure({ margins }: OpenHold, at: number, margin: number): void {
    if (Number.isFinite(margin) && margins.at(-1)?.[1] !== margin) margins.push([at, margin]);
  }
}
