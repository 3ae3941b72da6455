import { type EngineKind, type Plan, runPlan } from "@quorlock/simulation";
import { alternate } from "../measure/alternate.ts";
import { type ClockKind, defaultClock, plainClock, stepBare } from "../measure/bare-clock.ts";
import { median, pairwiseRatios, summaryOf } from "../measure/statistics.ts";
import type { Goal } from "../report/goal.ts";
import { figure, type Table } from "../report/table.ts";
import type { Workload } from "../workload.ts";

/** Locks that the clients of one run take and give back, all together. */
const usualLocks = 10_000;
/** Of the bare clock; as many timers as a run with ten clients keeps. */
const bareSteps = 400_000;
const barePending = 70;
const engines: readonly EngineKind[] = ["fake-timers", "heap"];
const sizes = [10, 100, 1000] as const;

/** Something whose rate is measured: so many a second of this process's CPU time. */
interface Subject {
  readonly name: string;
  /** Comes to how often it did what is counted. */
  run(): Promise<number>;
  /** The same without the work: what is to be taken off. */
  runIdle?(): Promise<number>;
}

/** How fast the simulator is: lock operations (an acquire or a release) a CPU-second, and bare `next()` calls. */
export const simulation: Workload = {
  name: "simulation",
  async run(_, scale) {
    const locks = scale.cycles ?? (scale.quick ? usualLocks / 2 : usualLocks);
    const bare = [defaultClock, plainClock].map((kind) => bareSubject(kind));
    const runs = sizes.flatMap((clients) => engines.map((engine) => runSubject(engine, clients, locks)));
    const subjects = [...bare, ...runs];
    for (const subject of subjects) await subject.run();
    const rates = await alternate(subjects, scale.quick ? 2 : 5, rateOf);
    const taken = new Map([...rates].map(([{ name }, values]) => [name, values]));
    return { tables: [tableOf(taken)], goals: goalsOf(taken) };
  },
};

type Rates = ReadonlyMap<string, readonly number[]>;

function bareSubject(kind: ClockKind): Subject {
  return {
    name: kind.name,
    run: async () => {
      stepBare(kind, barePending, bareSteps);
      return bareSteps;
    },
  };
}

function runSubject(engine: EngineKind, clients: number, locks: number): Subject {
  const runOf = (each: number) => async (): Promise<number> => {
    const { operations, verdict } = await runPlan(healthyPlan(clients, each), { engine });
    if (verdict === "violated") throw new Error(`a healthy cluster of ${clients} clients came to ${verdict}`);
    return operations;
  };
  // At its end a run lets all clients fight for the same lock: a fixed cost, and much of it with many clients.
  return { name: nameOf(engine, clients), run: runOf(Math.ceil(locks / clients)), runIdle: runOf(0) };
}

function nameOf(engine: EngineKind, clients: number): string {
  return `${engine}, ${clients} clients`;
}

async function rateOf(subject: Subject): Promise<number> {
  const idle = subject.runIdle ? await measured(() => subject.runIdle!()) : { count: 0, seconds: 0 };
  const { count, seconds } = await measured(() => subject.run());
  return (count - idle.count) / (seconds - idle.seconds);
}

async function measured(run: () => Promise<number>): Promise<{ count: number; seconds: number }> {
  // (No forced collection before it: that throws optimised code away, and halves the rate of what follows.)
  const before = process.cpuUsage();
  const count = await run();
  const { user, system } = process.cpuUsage(before);
  return { count, seconds: (user + system) / 1_000_000 };
}

/** Five masters, no faults; each client takes its own locks, one after the other, so that every one is granted. */
function healthyPlan(clients: number, locks: number): Plan {
  const own = 10;
  return {
    version: 1,
    seed: 1,
    duration: 10_000,
    masters: Array.from({ length: 5 }, (_, index) => ({
      offset: 10 * index,
      rate: 100 * (index - 2),
      persistence: { mode: "aof-always" },
    })),
    clients: Array.from({ length: clients }, (_, index) => ({
      offset: 7 * index,
      rate: 100 * ((index % 11) - 5),
      timerLateness: 0,
    })),
    network: {
      latency: { shape: "log-normal", median: 0.4, sigma: 0.3 },
      longestLatency: 1000,
      reconnectDelay: 50,
    },
    settings: {
      ttl: 10_000,
      driftFactor: 0.01,
      retryCount: 10,
      retryDelay: 100,
      retryJitter: 50,
      automaticExtensionThreshold: 500,
    },
    workload: {
      resources: 1,
      hold: 1,
      think: 1,
      styles: { acquire: 1, try: 0, extend: 0, using: 0, abandon: 0, abort: 0, several: 0 },
      script: Array.from({ length: clients }, (_, client) =>
        Array.from({ length: locks }, (_, lock) => ({
          at: 0,
          do: "acquire" as const,
          resource: own * client + (lock % own),
          hold: 1,
          looks: 1,
        })),
      ),
    },
    faults: [],
  };
}

function tableOf(rates: Rates): Table {
  const bare = rates.get(plainClock.name)!;
  const rows = [...rates].map(([name, values]) => {
    const { median: rate, p10, p90 } = summaryOf(values);
    const share = 100 * median(pairwiseRatios(values, bare));
    return [name, `${Math.round(rate)}`, `${Math.round(p10)}..${Math.round(p90)}`, figure(share)];
  });
  const growths = engines.map((engine) => `${figure(growthOf(rates, engine))} x (${engine})`).join(", ");
  const [smallest, largest] = [sizes[0], sizes[2]];
  return {
    title: "Simulation: lock operations a CPU-second, N=5, no faults; above them calls of bare next()",
    columns: ["", "median", "p10..p90", "% of plain"],
    rows,
    notes: [
      `${bare.length} rounds, taken in turn; ${barePending} timers pending in the bare clocks.`,
      `From ${smallest} to ${largest} clients an operation costs ${growths}; n log n is ${figure(growthOfNLogN)} x.`,
    ],
  };
}

/** What one operation costs with the most clients, over what it costs with the fewest. */
function growthOf(rates: Rates, engine: EngineKind): number {
  const [few, many] = [rates.get(nameOf(engine, sizes[0]))!, rates.get(nameOf(engine, sizes[2]))!];
  return median(pairwiseRatios(few, many));
}

/** The whole work may grow with n log n, so one operation's with log n. */
const growthOfNLogN = Math.log(sizes[2]) / Math.log(sizes[0]);

function goalsOf(rates: Rates): Goal[] {
  const shareOf = (engine: EngineKind, { name }: ClockKind): number =>
    100 * median(pairwiseRatios(rates.get(nameOf(engine, 10))!, rates.get(name)!));
  const shares = [defaultClock, plainClock].flatMap((clock): Goal[] => [
    atLeast(3, `simulation, fake-timers: of ${clock.name}`, shareOf("fake-timers", clock)),
    atLeast(1.6 * 3, `simulation, heap: of ${clock.name}`, shareOf("heap", clock)),
  ]);
  const growths = engines.map((engine): Goal => {
    const name = `simulation, ${engine}: an operation with ${sizes[2]} clients`;
    return { name, measured: growthOf(rates, engine), limit: growthOfNLogN, unit: `x with ${sizes[0]}` };
  });
  return [...shares, ...growths];
}

function atLeast(limit: number, name: string, measured: number): Goal {
  return { name, measured, limit, isFloor: true, unit: "%" };
}
