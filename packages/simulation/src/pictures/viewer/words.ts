import type { Call, Hold, Key, Message, Pause, Picture } from "../picture.ts";
import type { Thing } from "../thing.ts";
import { ms, signed } from "./numbers.ts";

/** The text of a tooltip: a title, then lines of a name and a value. */
export interface TooltipText {
  readonly title: string;
  readonly isDanger: boolean;
  readonly lines: ReadonlyArray<readonly [name: string, value: string]>;
}

export function tell(picture: Picture, thing: Thing): TooltipText {
  const { title, lines } = textOf(picture, thing);
  return { title, lines, isDanger: thing.kind === "violation" || thing.kind === "overlap" };
}

function textOf(picture: Picture, thing: Thing): Pick<TooltipText, "title" | "lines"> {
  switch (thing.kind) {
    case "message":
      return describeMessage(picture, thing.it);
    case "hold":
      return describeHold(picture, thing.it);
    case "key":
      return describeKey(picture, thing.it, thing.master);
    case "call":
      return describeCall(picture, thing.it, thing.client);
    case "pause":
      return describePause(thing.it, thing.name);
    case "write":
      return {
        title: `${nameOf(picture, thing.it)} ${thing.write[1] ? "writes" : "is turned away by the fence"}`,
        lines: [
          ["at", ms(thing.write[0])],
          ["in", `hold ${thing.it.number}`],
        ],
      };
    case "fault":
      return {
        title: `Fault: ${thing.it.kind}`,
        lines: [
          ["at", ms(thing.it.from)],
          ["what", thing.it.words],
        ],
      };
    case "violation":
      return {
        title: `Violation: ${thing.it.kind}`,
        lines: [
          ["at", ms(thing.it.at)],
          ["what", thing.it.detail],
        ],
      };
    case "overlap": {
      const [first, second] = thing.it.holds.map((index) => picture.holds[index]!);
      return {
        title: `Two holders of ${picture.resources[thing.it.resource]}`,
        lines: [
          ["for", `${ms(thing.it.until - thing.it.from)}, from ${ms(thing.it.from)}`],
          ["first", `${nameOf(picture, first!)}, hold ${first!.number}`],
          ["then", `${nameOf(picture, second!)}, hold ${second!.number}`],
        ],
      };
    }
  }
}

function nameOf({ clients }: Picture, { client }: Hold): string {
  return clients[client]?.name ?? "";
}

function describeMessage(picture: Picture, message: Message): Pick<TooltipText, "title" | "lines"> {
  const [client, master, sent, ran, heard, lost, command, reply] = message;
  const answer =
    heard >= 0
      ? `${ms(heard)}, after ${ms(heard - sent)}`
      : lost >= 0
        ? "never: the connection was lost"
        : "not yet";
  return {
    title: `${picture.clients[client]?.name} → ${picture.masters[master]?.name}`,
    lines: [
      ["command", picture.texts[command] ?? ""],
      ["reply", ran < 0 ? "none: it was never executed" : (picture.texts[reply] ?? "")],
      ["sent", ms(sent)],
      ["executed", ran < 0 ? "never" : `${ms(ran)}, after ${ms(ran - sent)}`],
      ["heard", answer],
    ],
  };
}

function describeHold(picture: Picture, hold: Hold): Pick<TooltipText, "title" | "lines"> {
  const least = hold.margins.reduce((low, [, margin]) => Math.min(low, margin), Number.POSITIVE_INFINITY);
  const beliefs = hold.beliefs.map(([from, until]) => `${ms(from)} to ${ms(until)}`);
  return {
    title: `${nameOf(picture, hold)} holds ${hold.resources.map((index) => picture.resources[index]).join(" and ")}`,
    lines: [
      ["hold", String(hold.number)],
      ["believes", beliefs.join(", ") || "never"],
      ["until", `${ms(hold.until)}, given up or told`],
      ["margin", Number.isFinite(least) ? `${signed(least / 1000, 3)} ms at least` : "not known"],
      ["writes", String(hold.writes.length)],
    ],
  };
}

const ends = {
  expired: "expired by its own clock",
  deleted: "deleted",
  overwritten: "overwritten",
  lost: "lost, the master went down",
  kept: "still there at the end",
} as const;

function describeKey(picture: Picture, key: Key, master: number): Pick<TooltipText, "title" | "lines"> {
  const [resource, client, , from, until, expiry, end] = key;
  return {
    title: `${picture.masters[master]?.name} keeps ${picture.resources[resource]}`,
    lines: [
      ["for", client < 0 ? "an unknown client" : (picture.clients[client]?.name ?? "")],
      ["from", ms(from)],
      ["until", `${ms(until)}, ${ends[end]}`],
      ["expiry", expiry < 0 ? "none" : `${ms(expiry)}, by its own clock`],
    ],
  };
}

function describeCall(
  { clients }: Picture,
  call: Call,
  client: number,
): Pick<TooltipText, "title" | "lines"> {
  const [from, until, name, how] = call;
  return {
    title: `${clients[client]?.name} calls ${name}`,
    lines: [
      ["from", ms(from)],
      ["took", ms(until - from)],
      ["came to", how],
    ],
  };
}

function describePause([from, until, how]: Pause, name: string): Pick<TooltipText, "title" | "lines"> {
  const lines: TooltipText["lines"] =
    how === "ended"
      ? [["from", ms(from)]]
      : [
          ["from", ms(from)],
          ["for", ms(until - from)],
        ];
  return { title: `${name} is ${how}`, lines };
}
