import type { Contender } from "../contenders/contender.ts";
import type { Lineup } from "../contenders/lineup.ts";
import { alternate } from "../measure/alternate.ts";
import { type Load, runLoad } from "../measure/load.ts";
import { Meter } from "../measure/meter.ts";
import type { Column, Rounds } from "../measure/rounds.ts";
import { quantile } from "../measure/statistics.ts";
import type { Scale } from "../workload.ts";

export type LoadQuantity = "rate" | "clientCpu" | "serverCpu" | "requests" | "p50" | "p99" | "failures";

export const loadColumns: readonly Column<LoadQuantity>[] = [
  { quantity: "rate", title: "acquire+release a second" },
  { quantity: "p50", title: "wait p50 ms" },
  { quantity: "p99", title: "p99 ms" },
  { quantity: "clientCpu", title: "client CPU us" },
  { quantity: "serverCpu", title: "server CPU us" },
  { quantity: "requests", title: "requests" },
  { quantity: "failures", title: "failed" },
];

/** What a reader of these columns must know. */
export const loadNote =
  "CPU and requests are per acquire and release, of all masters together; failed: of a round.";

/** At least five, so that a median is one. */
export function roundsOf(scale: Scale): number {
  return scale.quick ? 3 : 7;
}

/** Puts the same load on each contender, in turn, round after round. */
export async function compareLoads(
  lineup: Lineup,
  urls: readonly string[],
  scale: Scale,
  load: Omit<Load, "milliseconds">,
): Promise<Rounds<LoadQuantity>> {
  await using meter = await Meter.open(urls);
  const timed: Load = { ...load, milliseconds: scale.quick ? 150 : 400 };
  // In two goes: what was seen to run often is compiled better.
  // Until the compiler is done with all of them, on a busy machine too.
  const warmUp: Load = { ...load, milliseconds: scale.quick ? 250 : 500, atLeast: 5000 };
  await alternate(lineup.contenders, 2, (contender) => runLoad(contender, warmUp));
  const measured = await alternate(lineup.contenders, roundsOf(scale), (contender) =>
    measuredTurn(contender, meter, timed),
  );
  const rounds = new Map<string, readonly Record<LoadQuantity, number>[]>();
  for (const [contender, turns] of measured) {
    const requests = await requestsEach(contender, meter, { ...load, milliseconds: 50 });
    rounds.set(
      contender.name,
      turns.map((turn) => ({ ...turn, requests })),
    );
  }
  return rounds;
}

async function measuredTurn(
  contender: Contender,
  meter: Meter,
  load: Load,
): Promise<Record<Exclude<LoadQuantity, "requests">, number>> {
  const { result, clientCpu, serverCpu } = await meter.measure(() => runLoad(contender, load));
  const waits = result.waits.toSorted((a, b) => a - b);
  return {
    rate: result.cycles / result.seconds,
    clientCpu: clientCpu / result.cycles,
    serverCpu: serverCpu / result.cycles,
    p50: quantile(waits, 0.5),
    p99: quantile(waits, 0.99),
    failures: result.failures,
  };
}

async function requestsEach(contender: Contender, meter: Meter, load: Load): Promise<number> {
  let cycles = 0;
  const requests = await meter.requestsOf(async () => {
    ({ cycles } = await runLoad(contender, load));
  });
  return requests / cycles;
}
