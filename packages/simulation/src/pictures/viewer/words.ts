import type { Hold, Picture } from "../picture.ts";
import type { Thing } from "../thing.ts";
import { ms, signed } from "./numbers.ts";

/** The text of a tooltip: a title, then lines of a name and a value. */
export interface TooltipText {
  readonly title: string;
  readonly isDanger: boolean;
  readonly lines: ReadonlyArray<readonly [name: string, value: string]>;
}

export function tell(picture: Picture, thing: Thing): TooltipText {
  const teller = tellers[thing.kind] as (picture: Picture, thing: Thing) => Text;
  const { title, lines } = teller(picture, thing);
  return { title, lines, isDanger: thing.kind === "violation" || thing.kind === "overlap" };
}

type Text = Pick<TooltipText, "title" | "lines">;
type Tellers = {
  readonly [Kind in Thing["kind"]]: (picture: Picture, thing: Extract<Thing, { kind: Kind }>) => Text;
};

const tellers: Tellers = {
  message({ clients, masters, texts }, { it: [client, master, sent, ran, heard, lost, command, reply] }) {
    const unheard = lost >= 0 ? "never: the connection was lost" : "not yet";
    return {
      title: `${clients[client]?.name} → ${masters[master]?.name}`,
      lines: [
        ["command", texts[command] ?? ""],
        ["reply", ran < 0 ? "none: it was never executed" : (texts[reply] ?? "")],
        ["sent", ms(sent)],
        ["executed", ran < 0 ? "never" : `${ms(ran)}, after ${ms(ran - sent)}`],
        ["heard", heard >= 0 ? `${ms(heard)}, after ${ms(heard - sent)}` : unheard],
      ],
    };
  },
  hold(picture, { it: hold }) {
    const least = hold.margins.reduce((low, [, margin]) => Math.min(low, margin), Number.POSITIVE_INFINITY);
    const beliefs = hold.beliefs.map(([from, until]) => `${ms(from)} to ${ms(until)}`);
    const names = hold.resources.map((index) => picture.resources[index]).join(" and ");
    return {
      title: `${nameOf(picture, hold)} holds ${names}`,
      lines: [
        ["hold", String(hold.number)],
        ["believes", beliefs.join(", ") || "never"],
        ["until", `${ms(hold.until)}, given up or told`],
        ["margin", Number.isFinite(least) ? `${signed(least / 1000, 3)} ms at least` : "not known"],
        ["writes", String(hold.writes.length)],
      ],
    };
  },
  key({ clients, masters, resources }, { it: [resource, client, , from, until, expiry, end], master }) {
    return {
      title: `${masters[master]?.name} keeps ${resources[resource]}`,
      lines: [
        ["for", client < 0 ? "an unknown client" : (clients[client]?.name ?? "")],
        ["from", ms(from)],
        ["until", `${ms(until)}, ${ends[end]}`],
        ["expiry", expiry < 0 ? "none" : `${ms(expiry)}, by its own clock`],
      ],
    };
  },
  call({ clients }, { it: [from, until, name, how], client }) {
    const lines = { from: ms(from), took: ms(until - from), "came to": how };
    return { title: `${clients[client]?.name} calls ${name}`, lines: Object.entries(lines) };
  },
  pause(_, { it: [from, until, how], name }) {
    const lines = { from: ms(from), ...(how === "ended" ? {} : { for: ms(until - from) }) };
    return { title: `${name} is ${how}`, lines: Object.entries(lines) };
  },
  write(picture, { it, write: [at, isAccepted] }) {
    const title = `${nameOf(picture, it)} ${isAccepted ? "writes" : "is turned away by the fence"}`;
    return { title, lines: Object.entries({ at: ms(at), in: `hold ${it.number}` }) };
  },
  fault: (_, { it: { kind, from, words } }) => ({
    title: `Fault: ${kind}`,
    lines: Object.entries({ at: ms(from), what: words }),
  }),
  violation: (_, { it: { kind, at, detail } }) => ({
    title: `Violation: ${kind}`,
    lines: Object.entries({ at: ms(at), what: detail }),
  }),
  overlap(picture, { it: { holds, resource, from, until } }) {
    const [first, then] = holds.map((index) => {
      const hold = picture.holds[index]!;
      return `${nameOf(picture, hold)}, hold ${hold.number}`;
    });
    return {
      title: `Two holders of ${picture.resources[resource]}`,
      lines: [
        ["for", `${ms(until - from)}, from ${ms(from)}`],
        ["first", first!],
        ["then", then!],
      ],
    };
  },
};

function nameOf({ clients }: Picture, { client }: Hold): string {
  return clients[client]?.name ?? "";
}

const ends = {
  expired: "expired by its own clock",
  deleted: "deleted",
  overwritten: "overwritten",
  lost: "lost, the master went down",
  kept: "still there at the end",
} as const;
