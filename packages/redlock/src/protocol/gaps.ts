/**
 * When the masters of one lease may have voted for a rival (PROTOCOL 4.7).
 *
 * A master without the key has forgotten it at some time since it was found there last; until the key is there again, a
 * rival may have had its vote, and given it back. This is the master's gap. A rival needs the votes of a quorum at one
 * time: so the lease is lost once the gaps of a quorum share an instant.
 */
export class Gaps {
  /** The lease that they are of at present: the last one that continues under its token. */
  owner: { loseToMajority(): void };
  readonly #quorum: number;
  /** By the index of the master: the send of the last command that found the key. In lease time. */
  readonly #foundAt: number[];
  /** The masters whose gaps are open. */
  readonly #open = new Set<number>();
  /** When gaps ended, and whose gaps were open until then: where most gaps share an instant, one of them ends next. */
  #ends: ReadonlyArray<{ readonly at: number; readonly open: Set<number> }> = [];

  /** `since`: when the lease was granted. */
  constructor(owner: Gaps["owner"], masters: number, quorum: number, since: number) {
    this.owner = owner;
    this.#quorum = quorum;
    this.#foundAt = Array.from({ length: masters }, () => since);
  }

  /** The master had the key when it executed a command that was sent at `sentAt`, and has answered by `now`. */
  found(index: number, sentAt: number, now: number): void {
    this.#foundAt[index] = Math.max(this.#foundAt[index]!, sentAt);
    if (!this.#open.has(index)) return;
    const ends = [...this.#ends, { at: now, open: new Set(this.#open) }];
    // A gap that reaches back to an end reaches all later ones as well: what had no other masters than one of these adds
    // nothing. So there are at most as many ends as sets of masters.
    this.#ends = ends.filter(({ open }, place) => {
      const later = ends.slice(place + 1);
      return !later.some((end) => [...open].every((master) => end.open.has(master)));
    });
    this.#open.delete(index);
  }

  /** The master has not had the key. */
  missed(index: number): void {
    this.#open.add(index);
    for (const { at, open } of this.#ends) if (at > this.#foundAt[index]!) open.add(index);
    // PROTOCOL 4.7: a rival may have held at the same time.
    if ([this.#open, ...this.#ends.map(({ open }) => open)].some(({ size }) => size >= this.#quorum))
      this.owner.loseToMajority();
  }

  /** The server that answered as master `before` answers as master `index` from now on (PROTOCOL 2.10). */
  moved(before: number, index: number): void {
    this.#foundAt[index] = Math.min(this.#foundAt[index]!, this.#foundAt[before]!);
  }
}
