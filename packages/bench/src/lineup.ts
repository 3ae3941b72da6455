import type { Contender, ContenderTerms, OpenContender } from "./contender.ts";
import { openBare } from "./contenders/bare.ts";
import { openOurs } from "./contenders/ours.ts";
import { openRedisSemaphore } from "./contenders/redis-semaphore.ts";
import { openRedlock5 } from "./contenders/redlock-5.ts";
import { openRedlockUniversal } from "./contenders/redlock-universal.ts";

/** What all ratios are taken against. */
export const baseline = "bare";
export const ours = "ours";
/** The baseline a second time: its ratio shows what the machine and the method are good for. */
export const control = "bare-again";

const openers: Readonly<Record<string, OpenContender>> = {
  [ours]: openOurs,
  [baseline]: openBare,
  [control]: openBare,
  redlock: openRedlock5,
  "redis-semaphore": openRedisSemaphore,
  "redlock-universal": openRedlockUniversal,
};

/** Everyone who can take part, by name. */
export const contenderNames: readonly string[] = Object.keys(openers);
/** The other libraries. */
export const peers: readonly string[] = contenderNames.filter(
  (name) => ![ours, baseline, control].includes(name),
);

/** Contenders that measure side by side; `await using` ends them all. */
export class Lineup implements AsyncDisposable {
  readonly contenders: readonly Contender[];

  private constructor(contenders: readonly Contender[]) {
    this.contenders = contenders;
  }

  /** Opens those of `names` that are `wanted`. */
  static async open(
    names: readonly string[],
    wanted: readonly string[],
    terms: ContenderTerms,
  ): Promise<Lineup> {
    const contenders: Contender[] = [];
    for (const name of names) {
      if (wanted.includes(name)) contenders.push(await openers[name]!(name, terms));
    }
    return new Lineup(contenders);
  }

  find(name: string): Contender | undefined {
    return this.contenders.find((contender) => contender.name === name);
  }

  async ready(): Promise<void> {
    await Promise.all(this.contenders.map((contender) => contender.ready()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.contenders.map((contender) => contender.quit()));
  }
}
