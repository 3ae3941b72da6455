import type { ContenderTerms } from "../contenders/contender.ts";
import { openContender } from "../contenders/lineup.ts";
import { runLoad, warmUp } from "../measure/load.ts";
import { quantile } from "../measure/statistics.ts";
import { nextMessage, sendToParent, task } from "./child.ts";
import { keepCompany } from "./company.ts";

// One contender under load in its own process, warm: the code of others shapes none of its objects. The parent
// starts each turn.

export interface CrowdTask {
  readonly contender: string;
  readonly terms: ContenderTerms;
  /** Concurrent callers. */
  readonly callers: number;
  /** The duration of a turn, ms. */
  readonly milliseconds: number;
  readonly prefix: string;
  readonly quick: boolean;
  /** The process uses ioredis for other work as well. */
  readonly inCompany: boolean;
}

/** One turn; CPU is of the process, microseconds for each acquire and release. */
export interface CrowdTurn {
  readonly kind: `turn ${number}`;
  readonly cycles: number;
  readonly rate: number;
  readonly clientCpu: number;
  readonly p50: number;
  readonly p99: number;
  readonly failures: number;
}

export type CrowdMessage = CrowdTurn | { readonly kind: "ready" };

const { contender: name, terms, callers, milliseconds, prefix, quick, inCompany } = task() as CrowdTask;
const contender = await openContender(name, terms);
const company = inCompany ? await keepCompany(terms.urls) : undefined;
await warmUp([contender], callers, { quick });
await sendToParent({ kind: "ready" });
for (let turn = 0; ; turn += 1) {
  await nextMessage();
  company?.resume();
  const before = process.cpuUsage();
  const { cycles, seconds, failures, waits } = await runLoad(contender, { callers, milliseconds, prefix });
  const { user, system } = process.cpuUsage(before);
  company?.pause();
  const sorted = waits.toSorted((a, b) => a - b);
  const measured: CrowdTurn = {
    kind: `turn ${turn}`,
    cycles,
    rate: cycles / seconds,
    clientCpu: (user + system) / cycles,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    failures,
  };
  await sendToParent(measured);
}
