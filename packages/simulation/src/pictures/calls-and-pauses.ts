import type { TraceValue } from "../engine/trace.ts";
import type { Call, Pause } from "./picture.ts";

/** When a process stood still, and how. */
export class PausesDrawing {
  readonly #pauses: Pause[] = [];
  #suspendedSince: number | undefined;
  #downSince: number | undefined;
  #endedAt: number | undefined;

  see(at: number, verb: string, args: readonly TraceValue[]): void {
    if (verb === "frozen") this.#freeze(at, Number(args[0]));
    else if (verb === "clocks") this.#sleep(at, args[3] === true);
    else if (verb === "goes down") this.#downSince = at;
    else if (verb === "comes up" && this.#downSince !== undefined) {
      this.#pauses.push([this.#downSince, at, "down"]);
      this.#downSince = undefined;
    } else if (verb === "ends") this.#endedAt = at;
  }

  finish(at: number): readonly Pause[] {
    if (this.#suspendedSince !== undefined) this.#pauses.push([this.#suspendedSince, at, "suspended"]);
    if (this.#downSince !== undefined) this.#pauses.push([this.#downSince, at, "down"]);
    if (this.#endedAt !== undefined) this.#pauses.push([this.#endedAt, at, "ended"]);
    return this.#pauses.sort(([left], [right]) => left - right);
  }

  /** It may be frozen for longer while it is frozen. */
  #freeze(at: number, until: number): void {
    const last = this.#pauses.at(-1);
    if (last?.[2] === "frozen" && last[1] >= at) this.#pauses.pop();
    const from = last?.[2] === "frozen" && last[1] >= at ? last[0] : at;
    this.#pauses.push([from, until, "frozen"]);
  }

  #sleep(at: number, isSuspended: boolean): void {
    if (isSuspended) this.#suspendedSince ??= at;
    else if (this.#suspendedSince !== undefined) {
      this.#pauses.push([this.#suspendedSince, at, "suspended"]);
      this.#suspendedSince = undefined;
    }
  }
}

/** The calls of a client's code, and their results. */
export class CallsDrawing {
  readonly #pending = new Map<unknown, { readonly at: number; readonly name: string }>();
  readonly #calls: Call[] = [];

  see(at: number, verb: string, [number, text]: readonly TraceValue[]): void {
    if (verb === "ends") this.#end(at, "killed");
    if (verb === "calls") this.#pending.set(number, { at, name: String(text) });
    if (verb !== "settled") return;
    const call = this.#pending.get(number);
    this.#pending.delete(number);
    if (call) this.#calls.push([call.at, at, call.name, String(text)]);
  }

  finish(at: number): readonly Call[] {
    this.#end(at, "pending");
    return this.#calls.sort(([left], [right]) => left - right);
  }

  #end(at: number, how: string): void {
    for (const call of this.#pending.values()) this.#calls.push([call.at, at, call.name, how]);
    this.#pending.clear();
  }
}
