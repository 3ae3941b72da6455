import type { ClockTrack } from "./clock-track.ts";
import type { Numbering } from "./numbering.ts";
import type { Part } from "./parts.ts";
import type { Key } from "./picture.ts";

interface Living {
  readonly client: number;
  readonly token: number;
  readonly from: number;
  /** By the master's clock, in true time. */
  expiry: number;
}

/** The keys of one master over time: who holds them, and until when by *its* clock. */
export function keysPart(
  clock: ClockTrack,
  resources: Numbering,
  tokens: Numbering,
  clientNamed: (name: string) => number,
): Part<Key> {
  const living = new Map<string, Living>();
  const keys: Key[] = [];
  const end = (key: string, at: number, how: Key[6]): void => {
    const its = living.get(key);
    if (!its) return;
    living.delete(key);
    const { client, token, from, expiry } = its;
    const [until, ended] = expiry <= at ? ([expiry, "expired"] as const) : ([at, how] as const);
    const finite = Number.isFinite(expiry) ? expiry : -1;
    keys.push([resources.numberOf(key), client, token, from, until, finite, ended]);
  };
  const endAll = (at: number, how: Key[6]): void => {
    for (const key of [...living.keys()]) end(key, at, how);
  };
  const keep = (at: number, key: string, value: string, expiresAt: number, sender: string): void => {
    const token = tokens.numberOf(value);
    // Gone when its clock exceeds the expiry, in whole milliseconds.
    const expiry =
      expiresAt < 0 ? Number.POSITIVE_INFINITY : Math.ceil(clock.first("wall", expiresAt + 1, at));
    const its = living.get(key);
    if (its && its.token === token && its.expiry > at) {
      its.expiry = expiry;
      return;
    }
    end(key, at, "overwritten");
    // A key that a restart restores belongs to the client that had set it.
    const owner = (): number => keys.find(([, , known]) => known === token)?.[1] ?? -1;
    living.set(key, { client: sender === "" ? owner() : clientNamed(sender), token, from: at, expiry });
  };
  return {
    see(at, verb, args) {
      const [key, value, expiresAt, sender] = args.map(String) as [string, string, string, string];
      if (verb === "keeps") keep(at, key, value, Number(expiresAt), sender);
      else if (verb === "drops") end(key, at, "deleted");
      else if (verb === "goes down") endAll(at, "lost");
    },
    finish(at) {
      endAll(at, "kept");
      return keys.sort(([, , , left], [, , , right]) => left - right);
    },
  };
}
