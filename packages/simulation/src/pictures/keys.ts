import type { TraceValue } from "../engine/trace.ts";
import type { ClockTrack } from "./clock-track.ts";
import type { Numbering } from "./numbering.ts";
import type { Key } from "./picture.ts";

interface Living {
  readonly client: number;
  readonly token: number;
  readonly from: number;
  /** By the master's clock, in true time. */
  expiry: number;
}

/** The keys of one master over time: who holds them, and until when by *its* clock. */
export class KeysDrawing {
  readonly #clock: ClockTrack;
  readonly #resources: Numbering;
  readonly #tokens: Numbering;
  readonly #clientNamed: (name: string) => number;
  readonly #living = new Map<string, Living>();
  readonly #keys: Key[] = [];

  constructor(
    clock: ClockTrack,
    resources: Numbering,
    tokens: Numbering,
    clientNamed: (name: string) => number,
  ) {
    this.#clock = clock;
    this.#resources = resources;
    this.#tokens = tokens;
    this.#clientNamed = clientNamed;
  }

  see(at: number, verb: string, args: readonly TraceValue[]): void {
    const [key, value, expiresAt, sender] = args.map(String) as [string, string, string, string];
    if (verb === "keeps") this.#keep(at, key, value, Number(expiresAt), sender);
    else if (verb === "drops") this.#end(key, at, "deleted");
    else if (verb === "goes down") for (const lost of [...this.#living.keys()]) this.#end(lost, at, "lost");
  }

  finish(at: number): readonly Key[] {
    for (const key of [...this.#living.keys()]) this.#end(key, at, "kept");
    return this.#keys.sort(([, , , left], [, , , right]) => left - right);
  }

  #keep(at: number, key: string, value: string, expiresAt: number, sender: string): void {
    const token = this.#tokens.numberOf(value);
    // Gone when its clock exceeds the expiry, in whole milliseconds.
    const expiry =
      expiresAt < 0 ? Number.POSITIVE_INFINITY : Math.ceil(this.#clock.first("wall", expiresAt + 1, at));
    const living = this.#living.get(key);
    if (living && living.token === token && living.expiry > at) {
      living.expiry = expiry;
      return;
    }
    this.#end(key, at, "overwritten");
    const client = sender === "" ? this.#ownerOf(token) : this.#clientNamed(sender);
    this.#living.set(key, { client, token, from: at, expiry });
  }

  #end(key: string, at: number, how: Key[6]): void {
    const living = this.#living.get(key);
    if (!living) return;
    this.#living.delete(key);
    const { client, token, from, expiry } = living;
    const [until, end] = expiry <= at ? ([expiry, "expired"] as const) : ([at, how] as const);
    const finite = Number.isFinite(expiry) ? expiry : -1;
    this.#keys.push([this.#resources.numberOf(key), client, token, from, until, finite, end]);
  }

  /** A key that a restart restores belongs to the client that had set it. */
  #ownerOf(token: number): number {
    return this.#keys.find(([, , known]) => known === token)?.[1] ?? -1;
  }
}
