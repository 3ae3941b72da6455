import { DefaultMap } from "../default-map.ts";
import type { Share } from "../run/subject.ts";
import { Checker, type Judged, type RunEvent } from "./checker.ts";
import type { LockInterval } from "./lock-interval.ts";
import type { LockIntervals } from "./lock-intervals.ts";

/** A hold of a share, and when its holder has acted first and last so far; true time, us. */
interface Claim {
  readonly interval: LockInterval;
  readonly share: Share;
  first: number;
  last: number;
}

/**
 * Never more permits than the limit.
 *
 * By belief: all clients that observe a share as held, at the moment at which one more begins to hold.
 * By effect: between the first and the last act of a lock, each after a check of it, the holder held it all along. So
 * the spans from first to last act never overlap for more permits than there are, whatever any client observes.
 */
export class Shares extends Checker {
  readonly #intervals: LockIntervals;
  readonly #claims = new DefaultMap<string, Set<Claim>>(() => new Set());
  readonly #claimOf = new Map<LockInterval, Claim>();

  constructor(run: Judged, intervals: LockIntervals) {
    super(run);
    this.#intervals = intervals;
  }

  see(event: RunEvent): void {
    if (event.is === "held") this.#began(event.interval);
    else if (event.is === "acted") this.#acted(event.interval);
  }

  #began(interval: LockInterval): void {
    const { share } = interval.lock;
    if (!share) return;
    const claim = { interval, share, first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
    const claims = this.#claims.get(share.of);
    this.#forgetPast(claims);
    claims.add(claim);
    this.#claimOf.set(interval, claim);
    this.whenAwake(interval.process, () => this.#countHolders(claim));
  }

  #acted(interval: LockInterval): void {
    const claim = this.#claimOf.get(interval);
    if (claim) this.whenAwake(interval.process, () => this.#countActs(claim));
  }

  #countHolders({ interval, share }: Claim): void {
    if (!this.#intervals.believes(interval)) return;
    // Asleep, a monotonic clock stands still: its process cannot be asked, and awake it will know.
    const believers = [...this.#claims.get(share.of)].filter(
      (other) => !other.interval.process.isSuspended && this.#intervals.believes(other.interval),
    );
    this.#judge("belief", share, believers, `when ${interval.process.name} was given ${share.permits}`);
  }

  #countActs(claim: Claim): void {
    const { share } = claim;
    const { now } = this.run.kernel;
    const before = claim.last;
    claim.first = Math.min(claim.first, now);
    claim.last = now;
    const claims = [...this.#claims.get(share.of)];
    // A holder that began to act since this one's last act overlaps with it.
    for (const { first } of claims.filter((other) => other.first > before && other.first <= now)) {
      const holders = claims.filter((other) => other.first <= first && first <= other.last);
      if (this.#judge("effect", share, holders, `by what they did around ${first / 1000} ms`)) return;
    }
  }

  #judge(kind: "belief" | "effect", { of, limit }: Share, holders: readonly Claim[], when: string): boolean {
    const permits = holders.reduce((sum, { share }) => sum + share.permits, 0);
    if (permits <= limit) return false;
    const names = holders
      .map(({ interval }) => `${interval.process.name} (hold ${interval.number})`)
      .join(", ");
    this.violated(kind, `${permits} permits of ${limit} of "${of}" were held ${when}: ${names}`);
    return true;
  }

  /** A span that ended before the last act of every current holder cannot overlap with any other span. */
  #forgetPast(claims: Set<Claim>): void {
    let horizon = this.run.kernel.now;
    for (const { interval, last } of claims)
      if (!interval.isOver) horizon = Math.min(horizon, Math.max(last, interval.beganAt));
    for (const claim of claims) {
      if (!claim.interval.isOver || claim.last >= horizon) continue;
      claims.delete(claim);
      this.#claimOf.delete(claim.interval);
    }
  }
}
