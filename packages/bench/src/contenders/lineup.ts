import { bareOn } from "./bare.ts";
import type { ClientOptions } from "./clients.ts";
import type { Contender, ContenderTerms, OpenContender } from "./contender.ts";
import { openBefore, openOurs, openOursWith } from "./ours.ts";
import { redisSemaphoreOn } from "./redis-semaphore.ts";
import { redlock5On } from "./redlock-5.ts";
import { redlockUniversalOn } from "./redlock-universal.ts";

/** What all ratios are taken against. */
export const baseline = "bare";
export const ours = "ours";
export const fenced = "ours-fenced";
export const guarded = "ours-guarded";
/** The client of another checkout, where one is named. */
export const before = "ours-before";
/** The baseline a second time: its ratio shows what the machine and the method are good for. */
export const control = "bare-again";

/** ioredis gathers the commands of one turn of the event loop into one write. */
const pipelined: ClientOptions = { enableAutoPipelining: true };
export const pipelinedBaseline = "bare-pipelined";

const openers: Readonly<Record<string, OpenContender>> = {
  [ours]: openOurs,
  ...(process.env["QUORLOCK_BEFORE"] ? { [before]: openBefore } : {}),
  [fenced]: openOursWith({ fencing: true }),
  [guarded]: openOursWith({ restartGuard: { maxTtl: 60_000 } }),
  [baseline]: bareOn(),
  [control]: bareOn(),
  redlock: redlock5On(),
  "redis-semaphore": redisSemaphoreOn(),
  "redlock-universal": redlockUniversalOn(),
  [pipelinedBaseline]: bareOn(pipelined),
  "redlock-pipelined": redlock5On(pipelined),
  "redis-semaphore-pipelined": redisSemaphoreOn(pipelined),
  "redlock-universal-pipelined": redlockUniversalOn(pipelined),
};

/** Everyone who can take part, by name. */
export const contenderNames: readonly string[] = Object.keys(openers);
/** The other libraries as they are shipped. */
export const peers: readonly string[] = ["redlock", "redis-semaphore", "redlock-universal"];
/** The same on clients whose auto-pipelining was turned on, which few users do. */
export const pipelinedPeers: readonly string[] = peers.map((name) => `${name}-pipelined`);

export function openContender(name: string, terms: ContenderTerms): Promise<Contender> {
  const open = openers[name];
  if (!open) throw new Error(`there is no contender "${name}"`);
  return open(name, terms);
}

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
      if (wanted.includes(name)) contenders.push(await openContender(name, terms));
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
