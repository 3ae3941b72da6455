import { bareOn } from "./bare.ts";
import type { ClientOptions, Contender, ContenderTerms, OpenContender } from "./contender.ts";
import type { Observation } from "./observed.ts";
import { built, builtBefore, iovalkeyOn, nodeRedisOn, oursOf } from "./ours.ts";
import { peersOn } from "./peers.ts";
import { ring } from "./ring.ts";

/** The contender that all ratios are relative to. */
export const baseline = "bare";
export const ours = "ours";
/** Our client on clients of other libraries than ioredis. */
export const onNodeRedis = "ours-node-redis";
export const onIovalkey = "ours-iovalkey";
/** The client of the checkout that QUORLOCK_BEFORE names, if any. */
export const before = "ours-before";
/** The baseline a second time: its ratio to the first shows the measurement error. */
export const control = "bare-again";
export const pipelinedBaseline = "bare-pipelined";
/** The limit of any hand-over between processes. */
export const ringOfProcesses = "ring";

/** ioredis then sends the commands of one turn of the event loop in one write; the option is off by default. */
const pipelined: ClientOptions = { enableAutoPipelining: true };
const asShipped = peersOn("");
const onPipelined = peersOn("-pipelined", pipelined);

const openOurs = oursOf(async () => built);
/** The SDK is loaded only for these: other workloads measure imports and memory. */
function observed(what: Observation): OpenContender {
  return async (name, terms) => (await import("./observed.ts")).openObserved(openOurs, what, name, terms);
}

const openObserved: Readonly<Record<string, OpenContender>> = {
  "ours-in-context": observed({}),
  "ours-metrics": observed({ metrics: true }),
  "ours-sampled": observed({ metrics: true, spans: 0.1 }),
  "ours-observed": observed({ metrics: true, spans: 1 }),
};
/**
 * Our client in an application with the SDK of OpenTelemetry: unobserved, with metrics, then with the spans of one trace in ten,
 * and of all.
 */
export const observedOurs: readonly string[] = Object.keys(openObserved);

const openers: Readonly<Record<string, OpenContender>> = {
  [ours]: openOurs,
  [onNodeRedis]: oursOf(async () => built, nodeRedisOn),
  [onIovalkey]: oursOf(async () => built, iovalkeyOn),
  ...(process.env["QUORLOCK_BEFORE"] ? { [before]: oursOf(builtBefore) } : {}),
  [baseline]: bareOn(),
  [control]: bareOn(),
  [pipelinedBaseline]: bareOn(pipelined),
  [ringOfProcesses]: ring,
  ...openObserved,
  ...asShipped,
  ...onPipelined,
};

/** The names of all contenders. */
export const contenderNames: readonly string[] = Object.keys(openers);
/** The other libraries with default clients, and below the same ones on clients with auto-pipelining. */
export const peers: readonly string[] = Object.keys(asShipped);
export const pipelinedPeers: readonly string[] = Object.keys(onPipelined);

export function openContender(name: string, terms: ContenderTerms): Promise<Contender> {
  const open = openers[name];
  if (!open) throw new Error(`there is no contender "${name}"`);
  return open(name, terms);
}

/** Contenders that are measured side by side; `await using` closes them all. */
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

  async ready(): Promise<void> {
    await Promise.all(this.contenders.map((contender) => contender.ready()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.contenders.map((contender) => contender.quit()));
  }
}
