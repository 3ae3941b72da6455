import { claimScript, releaseScript } from "@quorlock/redlock";
import type { Process } from "../engine/process.ts";
import type { Master } from "../master/master.ts";
import type { Moment } from "../plan/fault.ts";

/** Whom a moment happened to. */
export interface Place {
  readonly client: Process;
  readonly master?: Master;
}

export type MomentListener = (place: Place) => void;

type Args = readonly (string | number)[];

/** What a script is for. A `claim` is our one script for voting, extending and asking. */
type Purpose = "vote" | "extension" | "release" | "claim";

/** By digest and by text: a script is sent either way. */
const purposes = new Map<unknown, Purpose>();

/** Tells what a client's script is for, so that triggers know it on the wire. */
export function nameScript({ sha1, source }: typeof claimScript, purpose: Purpose): void {
  purposes.set(sha1, purpose);
  purposes.set(source, purpose);
}

nameScript(claimScript, "claim");
nameScript(releaseScript, "release");

/** Tells those who wait for it what moment a run has come to. Costs next to nothing where nobody waits. */
export class Moments {
  readonly #listeners = new Map<Moment, MomentListener[]>();
  /** Tokens of locks that were granted: a claim with one of them extends. */
  readonly #granted = new Set<unknown>();

  /** Called in the turn in which it happens. */
  on(moment: Moment, listener: MomentListener): void {
    const listeners = this.#listeners.get(moment);
    if (listeners) listeners.push(listener);
    else this.#listeners.set(moment, [listener]);
  }

  /** `client` has a lock, with this token in the masters' keys. */
  granted(client: Process, token: string): void {
    if (this.#listeners.size > 0) this.#granted.add(token);
    this.#raise("granted", { client });
  }

  /** `client` has looked at its lock and is about to write. */
  writing(client: Process): void {
    this.#raise("write", { client });
  }

  /** A command is on its way. */
  sent(place: Place, command: string, args: Args): void {
    if (this.#listeners.size === 0) return;
    const purpose = this.#purposeOf(command, args);
    if (purpose) this.#raise(`${purpose} sent`, place);
  }

  /** A master has executed a command. */
  executed(place: Place, command: string, args: Args, reply: unknown): void {
    if (!this.#listeners.has("vote applied") || !isYes(reply)) return;
    if (this.#purposeOf(command, args) === "vote") this.#raise("vote applied", place);
  }

  #raise(moment: Moment, place: Place): void {
    for (const listener of this.#listeners.get(moment) ?? []) listener(place);
  }

  #purposeOf(command: string, args: Args): Exclude<Purpose, "claim"> | undefined {
    if (command === "SET") return "vote";
    const purpose = command.startsWith("EVAL") ? purposes.get(args[0]) : undefined;
    return purpose === "claim" ? this.#purposeOfClaim(args) : purpose;
  }

  /** KEYS, then token, ttl, and whether free keys are set. */
  #purposeOfClaim(args: Args): "vote" | "extension" | undefined {
    const [token, ttl, create] = args.slice(2 + Number(args[1]));
    if (this.#granted.has(token)) return ttl === 1 ? undefined : "extension";
    // Without setting it is the question after a refused vote.
    return create === 1 ? "vote" : undefined;
  }
}

/** `OK`, no refusal of a claim, or how many keys a peer's script has set. */
function isYes(reply: unknown): boolean {
  if (Array.isArray(reply)) return reply[0] === 0;
  return reply === "OK" || (typeof reply === "number" && reply > 0);
}
