import type { ClockTrack } from "./clock-track.ts";
import type { Numbering } from "./numbering.ts";
import type { Part } from "./parts.ts";
import type { Hold, Span } from "./picture.ts";

interface OpenHold extends Pick<Hold, "number" | "client" | "from"> {
  readonly value: string;
  readonly names: readonly string[];
  readonly beliefs: Span[];
  readonly margins: Array<readonly [number, number]>;
  readonly writes: Array<readonly [number, boolean]>;
  until?: number;
}

/** Every lease of a client: the time in which it observed it as held, its margin and its writes. */
export function holdsPart(
  client: number,
  clock: ClockTrack,
  resources: Numbering,
  tokens: Numbering,
): Part<Hold> {
  const holds = new Map<number, OpenHold>();
  /** It believes until either of its clocks gets there (us by those clocks). */
  const believe = ({ beliefs }: OpenHold, at: number, monotonicEnd: number, wallEnd: number): void => {
    const end = Math.min(
      clock.first("monotonic", monotonicEnd / 1000, at),
      clock.first("wall", wallEnd / 1000, at),
    );
    const last = beliefs.at(-1);
    const goesOn = last !== undefined && last[1] >= at;
    if (goesOn) beliefs.pop();
    beliefs.push([goesOn ? last[0] : at, Number.isFinite(end) ? Math.floor(end) : Number.MAX_SAFE_INTEGER]);
  };
  return {
    see(at, verb, args) {
      if (verb === "begins") {
        const [number, value, ...names] = [Number(args[0]), ...args.slice(1).map(String)] as const;
        const hold = { number, client, value: value!, names, from: at, beliefs: [], margins: [], writes: [] };
        holds.set(number, hold);
        return;
      }
      const hold = holds.get(Number(verb === "writes" || verb === "is turned away" ? args[1] : args[0]));
      if (!hold) return;
      if (verb === "believes") believe(hold, at, Number(args[1]), Number(args[2]));
      else if (verb === "margin") measure(hold, at, Number(args[2]));
      else if (verb === "writes") hold.writes.push([at, true]);
      else if (verb === "is turned away") hold.writes[hold.writes.length - 1] = [at, false];
      else if (verb === "is over" || verb === "gives up") doubt(hold, at);
      if (verb === "gives up") hold.until = at;
    },
    finish: (at) =>
      [...holds.values()].map(({ value, names, until = at, ...hold }) => ({
        ...hold,
        until,
        token: tokens.find(value),
        resources: names.map((name) => resources.numberOf(name)),
        beliefs: hold.beliefs.map(([from, end]): Span => [from, Math.min(end, at)]),
      })),
  };
}

function doubt({ beliefs }: OpenHold, at: number): void {
  const last = beliefs.at(-1);
  if (last && last[1] > at) beliefs[beliefs.length - 1] = [last[0], at];
}

function measure({ margins }: OpenHold, at: number, margin: number): void {
  if (Number.isFinite(margin) && margins.at(-1)?.[1] !== margin) margins.push([at, margin]);
}
