import { mastersFromDocker } from "../docker/docker.ts";
import {
  type Masters,
  type MastersOptions,
  type MastersSource,
  NoMastersError,
  type Way,
} from "../masters.ts";
import { mastersFromModel } from "./embedded.ts";
import { mastersFromInstallation } from "./install.ts";
import { mastersFromLocalBinary } from "./local-binary.ts";
import { mastersFromEnvironment } from "./nodes-from-environment.ts";

type NamedWay = readonly [MastersSource, Way];

const waysToRealMasters: readonly NamedWay[] = [
  ["REDLOCK_NODES", mastersFromEnvironment],
  ["local-binary", mastersFromLocalBinary],
  ["docker", mastersFromDocker],
  ["installed", mastersFromInstallation],
];
const allWays: readonly NamedWay[] = [...waysToRealMasters, ["embedded", mastersFromModel]];

/**
 * Finds or starts `count` independent masters, in this order: `REDLOCK_NODES`; redis-server or valkey-server on
 * the PATH; Docker; an installation by apt-get or apk where the process is root. Where it is asked for, by
 * `lastResort`, `source` or `REDLOCK_SOURCE`: a model of Redis in this process.
 *
 * Throws `NoMastersError` when no way applies, and a plain error when one applies but is broken (a node of
 * `REDLOCK_NODES` that does not answer, a configuration that the server refuses).
 */
export async function startMasters(count: number, options: MastersOptions = {}): Promise<Masters> {
  if (!Number.isInteger(count) || count < 1) {
    throw new RangeError(`the number of masters must be a whole number of at least 1, got ${count}`);
  }
  const say = options.say ?? ((line: string) => console.error(line));
  const wayOptions = { persistence: options.persistence ?? "none", config: options.config ?? [], say };
  const reasons: string[] = [];
  for (const [source, way] of waysFor(options.source ?? sourceFromEnvironment(), options.lastResort)) {
    if (source === "embedded" && reasons.length > 0) {
      say(`testbed: no real masters to be had: ${reasons.join("; ")}`);
    }
    const result = await way(count, wayOptions);
    if (!("unavailable" in result)) return result;
    reasons.push(`${source}: ${result.unavailable}`);
  }
  throw new NoMastersError(`no masters to be had:\n${reasons.map((reason) => `- ${reason}`).join("\n")}`);
}

function waysFor(only: MastersSource | undefined, lastResort: "embedded" | undefined): readonly NamedWay[] {
  if (only !== undefined) return allWays.filter(([source]) => source === only);
  return lastResort === undefined ? waysToRealMasters : allWays;
}

/** `REDLOCK_SOURCE`: only this way, for a whole test run. */
function sourceFromEnvironment(): MastersSource | undefined {
  const { REDLOCK_SOURCE: name } = process.env;
  if (!name) return undefined;
  const source = allWays.find(([source]) => source === name)?.[0];
  if (source) return source;
  const names = allWays.map(([source]) => source).join(", ");
  throw new Error(`REDLOCK_SOURCE must be one of ${names}, but is ${name}`);
}
