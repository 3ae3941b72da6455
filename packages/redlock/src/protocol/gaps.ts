/** A moment, and the masters whose gaps contain it. */
const fromNowOn = { at: Number.POSITIVE_INFINITY, open: [] as readonly number[] };
type Moment = Readonly<typeof fromNowOn>;
const isWithin = (one: Moment, other: Moment) => one.open.every((master) => other.open.includes(master));

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
  /** Right before gaps ended, since where most gaps share an instant one of them ends next; and, last, from now on. */
  #moments: readonly Moment[] = [fromNowOn];

  /** `since`: when the lease was granted. */
  constructor(owner: Gaps["owner"], masters: number, quorum: number, since: number) {
    this.owner = owner;
    this.#quorum = quorum;
    this.#foundAt = Array.from({ length: masters }, () => since);
  }

  /** The master had the key when it executed a command that was sent at `sentAt`, and has answered by `now`. */
  found(index: number, sentAt: number, now: number): void {
    this.#foundAt[index] = Math.max(this.#foundAt[index]!, sentAt);
    const { open } = this.#moments.at(-1)!;
    if (!open.includes(index)) return;
    const still = { ...fromNowOn, open: open.filter((master) => master !== index) };
    const all = [...this.#moments.slice(0, -1), { at: now, open }, still];
    // A gap that reaches back to a moment contains all later ones: what had no other masters than one of these adds nothing. So
    // there are at most as many moments as sets of masters.
    this.#moments = all.filter((one, nth) => !all.slice(nth + 1).some((other) => isWithin(one, other)));
  }

  /** The master has not had the key. */
  missed(index: number): void {
    const adds = ({ at, open }: Moment) => at > this.#foundAt[index]! && !open.includes(index);
    this.#moments = this.#moments.map((one) => (adds(one) ? { ...one, open: [...one.open, index] } : one));
    // PROTOCOL 4.7: a rival may have held at the same time.
    if (this.#moments.some(({ open }) => open.length >= this.#quorum)) this.owner.loseToMajority();
  }

  /** The server that answered as master `before` answers as master `index` from now on (PROTOCOL 2.10). */
  moved(before: number, index: number): void {
    this.#foundAt[index] = Math.min(this.#foundAt[index]!, this.#foundAt[before]!);
  }
}
