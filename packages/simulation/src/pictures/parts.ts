import type { TraceValue } from "../engine/trace.ts";
import type { Call, Pause, Standstill } from "./picture.ts";

/** A part of a picture about one process: it sees what that does, and is drawn when the run is over. */
export interface Part<Drawn = unknown> {
  see(at: number, verb: string, args: readonly TraceValue[]): void;
  finish(at: number): readonly Drawn[];
}

/** When a process stood still, and how. */
export function pausesPart(): Part<Pause> {
  const pauses: Pause[] = [];
  const since = new Map<Standstill, number>();
  const end = (how: Standstill, at: number): void => {
    const from = since.get(how);
    if (from !== undefined) pauses.push([from, at, how]);
    since.delete(how);
  };
  /** It may be frozen for longer while it is frozen. */
  const freeze = (at: number, until: number): void => {
    const last = pauses.at(-1);
    const isLonger = last?.[2] === "frozen" && last[1] >= at;
    if (isLonger) pauses.pop();
    pauses.push([isLonger ? last[0] : at, until, "frozen"]);
  };
  return {
    see(at, verb, args) {
      if (verb === "frozen") freeze(at, Number(args[0]));
      else if (verb === "clocks" && args[3] !== true) end("suspended", at);
      else if (verb === "clocks" && !since.has("suspended")) since.set("suspended", at);
      else if (verb === "goes down") since.set("down", at);
      else if (verb === "comes up") end("down", at);
      else if (verb === "ends") since.set("ended", at);
    },
    finish(at) {
      for (const how of ["suspended", "down", "ended"] as const) end(how, at);
      return pauses.sort(([left], [right]) => left - right);
    },
  };
}

/** The calls of a client's code, and their results. */
export function callsPart(): Part<Call> {
  const pending = new Map<unknown, { readonly at: number; readonly name: string }>();
  const calls: Call[] = [];
  const end = (number: unknown, at: number, how: string): void => {
    const call = pending.get(number);
    pending.delete(number);
    if (call) calls.push([call.at, at, call.name, how]);
  };
  const endAll = (at: number, how: string): void => {
    for (const number of [...pending.keys()]) end(number, at, how);
  };
  return {
    see(at, verb, [number, text]) {
      if (verb === "ends") endAll(at, "killed");
      else if (verb === "calls") pending.set(number, { at, name: String(text) });
      else if (verb === "settled") end(number, at, String(text));
    },
    finish(at) {
      endAll(at, "pending");
      return calls.sort(([left], [right]) => left - right);
    },
  };
}
