import { DefaultMap } from "../default-map.ts";
import { Checker, type RunEvent } from "./checker.ts";
import type { LockInterval } from "./lock-interval.ts";

interface Grant {
  /** When the holder's code had the lock; true time, us. */
  readonly at: number;
  /** The largest token granted up to then. */
  readonly largest: number;
}

/**
 * Fencing tokens, in the order that the resource relies on: a lock that was *requested* after another had begun has a
 * larger token, and no two locks share one. Whether the leases overlapped meanwhile does not matter (PROTOCOL 8). The
 * readers and writers of a lock have one sequence, and readers who hold at a time may have the same token.
 */
export class Fencing extends Checker {
  readonly #grants = new DefaultMap<string, Grant[]>(() => []);
  readonly #tokens = new DefaultMap<string, Set<number>>(() => new Set());
  #isStopped = false;

  see(event: RunEvent): void {
    // (Given away, a lock keeps its fencing token.)
    if (event.is === "held" && event.isGranted) this.#began(event.interval);
    // Too many masters have lost their counters, so tokens depend on clocks: nothing is promised any more (PROTOCOL 8.8).
    if (event.is === "error" && event.reason === "UNCERTAIN_FLOOR" && !this.run.isElsewhere(event.client))
      this.#isStopped = true;
  }

  #began({ lock, fencingToken, askedAt, beganAt }: LockInterval): void {
    if (fencingToken === undefined) return;
    // Of readers and writers, who have one. (An exclusive lock of that name has another.)
    const { sequence } = lock as { readonly sequence?: string };
    for (const name of sequence === undefined ? lock.resources : [sequence])
      this.granted(name, fencingToken, askedAt, beganAt, sequence !== undefined);
  }

  /** A hold of `resource` with `token` was asked for at `askedAt` and begins at `at`, not before those so far. */
  granted(resource: string, token: number, askedAt: number, at: number, isShared = false): void {
    if (this.#isStopped) return;
    const grants = this.#grants.get(resource);
    const tokens = this.#tokens.get(resource);
    const earlier = grants.findLast((grant) => grant.at <= askedAt)?.largest ?? Number.NEGATIVE_INFINITY;
    if (tokens.has(token) && !isShared)
      this.violated("fencing", `two holds of "${resource}" have token ${token}`);
    else if (earlier >= token) {
      const text = `a hold of "${resource}" has token ${token}, and an earlier one had ${earlier}`;
      this.violated("fencing", text);
    }
    tokens.add(token);
    grants.push({ at, largest: Math.max(token, grants.at(-1)?.largest ?? 0) });
  }
}
