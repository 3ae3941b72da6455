import type { Plan } from "../plan/plan.ts";
import type { ScenarioOutcome } from "../scenarios/scenario.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { sketched, use } from "../scenarios/sketch.ts";

/** A run that the lab shows by name. */
export interface Story {
  /** In kebab-case: its name in a link. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
  /** The option of Quorlock that the story is about, if there is one. */
  readonly option?: string;
  /** With the option, where there is one, and without it. */
  readonly plan: (seed: number, isWith: boolean) => Plan;
  /** The outcomes in the simulator, with every seed: with the option, and without it. */
  readonly expected: {
    readonly quorlock: readonly [isWith: ScenarioOutcome, isWithout: ScenarioOutcome];
    readonly "redlock-5": ScenarioOutcome;
  };
}

function scenarioPlan(name: string): (seed: number) => Plan {
  return scenarios.find((scenario) => scenario.name === name)!.plan;
}

/** The plans of two scenarios: with an option, and without it. */
function either(isWith: string, isWithout: string): Story["plan"] {
  const [one, other] = [scenarioPlan(isWith), scenarioPlan(isWithout)];
  return (seed, hasOption) => (hasOption ? one(seed) : other(seed));
}

/** A majority of the masters is full while client 0 works, and extends its lock. */
const fullMasters = sketched({
  script: [[use(10, 4500, 45, "using")], [use(600, 200, 2)]],
  faults: [{ at: 1500, kind: "refuse", masters: [0, 1, 2], why: "OOM", duration: 2500 }],
  settings: { retryCount: 200 },
});

/** Six clients use one lock, again and again. */
function hotLock(isQueueing: boolean): (seed: number) => Plan {
  return sketched({
    script: Array.from({ length: 6 }, (_, client) =>
      Array.from({ length: 8 }, () => use(10 + client * 15, 60, 2)),
    ),
    faults: [],
    settings: { queue: isQueueing, retryDelay: 200, retryJitter: 100, retryCount: 100 },
  });
}

const table: Readonly<Record<string, Omit<Story, "name">>> = {
  pause: {
    title: "A pause, and the write that comes late",
    text:
      "Client 0 looks at its lock and is paused for longer than the ttl before it writes. No lock can prevent this write: " +
      "Kleppmann's argument. With fencing tokens the resource turns it away.",
    option: "fencing",
    plan: either("pause-after-the-check-fenced", "pause-after-the-check"),
    expected: { quorlock: ["safe", "stale write"], "redlock-5": "stale write" },
  },
  clock: {
    title: "The clock of one master jumps",
    text:
      "Client 0 reaches A, B and C only, client 1 reaches C, D and E only. The clock of C jumps 20 s forward: its key expires, and " +
      "C votes a second time. With `clockWatch: { exclude: true }` the vote of C does not count.",
    option: "clockWatch",
    plan: either("clock-jump-on-c-excluded", "clock-jump-on-c"),
    expected: { quorlock: ["safe", "overlap"], "redlock-5": "overlap" },
  },
  crash: {
    title: "A master crashes without fsync",
    text:
      "C crashes and is back after 10 ms with no key, and could vote a second time. With `restartGuard` C gives no vote until " +
      "every lock that it may have forgotten has expired.",
    option: "restartGuard",
    plan: either("crash-without-persistence-guarded", "crash-without-persistence"),
    expected: { quorlock: ["safe", "overlap"], "redlock-5": "overlap" },
  },
  full: {
    title: "Full masters",
    text:
      "The memory of three of five masters is full for 2.5 s while client 0 works. Redis refuses commands that may need memory, " +
      "and `SET` is one of them: a client that extends by `SET` loses its lock.",
    plan: (seed) => fullMasters(seed),
    expected: { quorlock: ["safe", "safe"], "redlock-5": "told late" },
  },
  split: {
    title: "The split vote",
    text: scenarios.find(({ name }) => name === "split-vote")!.story,
    plan: scenarioPlan("split-vote"),
    expected: { quorlock: ["safe", "safe"], "redlock-5": "expired grant" },
  },
  queue: {
    title: "The fair queue, beside polling",
    text:
      "Six clients use one lock, again and again. In the queue each is served in the order of its calls, as soon as the lock is " +
      "released. Without the queue each asks again every 200 to 300 ms, and luck decides.",
    option: "queue",
    plan: (seed, isWith) => hotLock(isWith)(seed),
    expected: { quorlock: ["safe", "safe"], "redlock-5": "expired grant" },
  },
};

export const stories: readonly Story[] = Object.entries(table).map(([name, story]) => ({ name, ...story }));
