import type { Timed } from "./node.ts";
import { apartAtLeast, apartAtMost, type ClockJudge, type Reading } from "./reading.ts";

interface Clocked {
  readonly clock: ClockJudge;
  readonly reading: Reading;
}

interface Pending extends Clocked {
  readonly isYes: boolean;
  readonly onVerdict: (why?: string) => void;
}

const counts: { readonly why?: string } = {};

/**
 * Decides which votes of one round count, by the masters' clocks as they were read in this round (PROTOCOL 11.2, 11.3).
 *
 * A yes counts once the clocks of a majority of all masters, its own among them, agree to within `maxOffset`. It
 * waits while missing masters could complete such a majority; once they cannot, it does not count. So if two clocks
 * disagree, neither counts until a third one shows which is wrong. This costs no time: a lock needs the votes of a
 * majority anyway.
 *
 * Why this excludes a master M whose clock has stepped from every later round, whatever its client has seen before: M
 * agrees with none of the masters that did not step, and those that did are a minority. A lease from before the step
 * keeps its keys on q - 1 other masters, a later one needs q of the N - 1 others, and (q - 1) + q > N - 1: they share
 * one. Only readings of the round itself are used: a client may be new, and a clock may have stepped since an older
 * reading.
 */
export class RoundClocks {
  readonly #answers: ReadonlyArray<unknown>;
  readonly #quorum: number;
  readonly #clocked: Array<Clocked | undefined>;
  readonly #pending: Array<Pending | undefined>;

  /** `answers`: those of the round, `undefined` for a master that may still answer. */
  constructor(answers: ReadonlyArray<unknown>, quorum: number) {
    this.#answers = answers;
    this.#quorum = quorum;
    this.#clocked = answers.map(() => undefined);
    this.#pending = answers.map(() => undefined);
  }

  /** Calls `onVerdict` as soon as the clocks decide: why the vote does not count; nothing if it does. */
  judge(
    index: number,
    { vote, clock, reading }: Timed<{ readonly is: string }>,
    onVerdict: Pending["onVerdict"],
  ): void {
    this.#clocked[index] = { clock, reading };
    this.#pending[index] = { clock, reading, isYes: vote.is !== "no", onVerdict };
    this.review();
  }

  /** Judges the pending votes again: another master has answered, or has been given up. */
  review(): void {
    for (let index = 0; index < this.#pending.length; index += 1) {
      const pending = this.#pending[index];
      if (!pending) continue;
      const verdict = pending.isYes ? this.#verdictOn(index, pending) : counts;
      if (verdict === "open") continue;
      this.#pending[index] = undefined;
      pending.onVerdict(verdict.why);
    }
  }

  /** Why a vote does not count that is still pending when the time of the round is over; `undefined` if none is. */
  giveUp(index: number): string | undefined {
    const pending = this.#pending[index];
    this.#pending[index] = undefined;
    return pending && "too few other clocks were read in time to judge its own";
  }

  #verdictOn(index: number, { clock }: Pending): "open" | typeof counts {
    if (clock.hasSteppedLately) return { why: "its clock has stepped within the longest ttl" };
    const quorum = this.#quorum;
    const agreeing = this.#agreeingWith(index);
    if (agreeing >= quorum) return counts;
    // The clocks that are still to be read may agree (PROTOCOL 11.2).
    if (agreeing + this.#missing >= quorum) return "open";
    if (this.#isSkewed(index)) clock.distrust();
    return { why: `only ${agreeing} of ${quorum} clocks agree to within ${clock.maxOffset} ms` };
  }

  /** The number of clocks that may still be read. */
  get #missing(): number {
    return this.#clocked.filter((clocked, index) => !clocked && this.#answers[index] === undefined).length;
  }

  #agreeingWith(index: number): number {
    const own = this.#clocked[index]!;
    return this.#clocked.filter(
      (other) => other && (other === own || apartAtMost(own.reading, other.reading) <= own.clock.maxOffset),
    ).length;
  }

  /** Whether this clock is certainly wrong: it is far from one that a majority agrees with. */
  #isSkewed(index: number): boolean {
    const { reading, clock } = this.#clocked[index]!;
    return this.#clocked.some(
      (other, place) =>
        other &&
        apartAtLeast(reading, other.reading) > clock.maxOffset &&
        this.#agreeingWith(place) >= this.#quorum,
    );
  }
}
