import type { ContenderTerms } from "../contenders/contender.ts";
import { startProgram } from "../programs/child.ts";
import type { CrowdMessage, CrowdTask } from "../programs/crowd.ts";
import type { Scale } from "../workload.ts";
import { type LoadQuantity, roundsOf } from "./load.ts";
import { Meter } from "./meter.ts";
import type { Rounds } from "./rounds.ts";
import { alternate } from "./statistics.ts";

const startLimit = 120_000;
const turnLimit = 60_000;

/** Callers in a process, and its other work. */
export interface Crowd {
  readonly callers: number;
  readonly inCompany: boolean;
}

/** Runs the same load on each contender, each warm in its own process, in turn. */
export async function compareCrowds(
  names: readonly string[],
  terms: ContenderTerms,
  { callers, inCompany }: Crowd,
  scale: Scale,
): Promise<Rounds<LoadQuantity>> {
  await using meter = await Meter.open(terms.urls);
  const present = names.filter((name) => scale.contenders.includes(name));
  const started = new Map(
    present.map((contender) => {
      const milliseconds = scale.quick ? 150 : 400;
      const prefix = `at-once:${callers}`;
      const task: CrowdTask = {
        contender,
        terms,
        callers,
        milliseconds,
        prefix,
        quick: scale.quick,
        inCompany,
      };
      return [contender, startProgram<CrowdMessage>("crowd", task)];
    }),
  );
  try {
    await Promise.all([...started.values()].map((child) => child.message("ready", startLimit)));
    return await alternate(present, roundsOf(scale), async (name, pass) => {
      const before = await meter.serverCpu();
      const child = started.get(name)!;
      child.send({ kind: "turn" });
      const kind = `turn ${pass}` as const;
      const { kind: _, cycles, ...figures } = await child.message(kind, turnLimit);
      return { ...figures, serverCpu: ((await meter.serverCpu()) - before) / cycles };
    });
  } finally {
    await Promise.all([...started.values()].map((child) => child[Symbol.asyncDispose]()));
  }
}
