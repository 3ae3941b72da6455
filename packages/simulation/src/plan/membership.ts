import { Random } from "../random.ts";
import type { Fault } from "./fault.ts";
import { type ClientPlan, goneAt, type Plan } from "./plan.ts";
import { planWith } from "./swarm.ts";

// Changes of the list of masters while locks are in use (PROTOCOL 1.13).

/** The three lists of a change of two steps, each with one master more or less than the one before it. */
type Lists = readonly [first: readonly number[], middle: readonly number[], last: readonly number[]];

/**
 * The plan of a seed in which every client is restarted twice, one after the other, each time with a list that has one master more or
 * less. Between the two, the ttl passes after the last client with the first list has ended. Nothing may be violated.
 */
export function membershipPlan(seed: number): Plan {
  const random = new Random(seed, "plan membership");
  const lists = drawLists(random);
  const count = random.integer(2, 3);
  const drawn = planWith(seed, { masters: Math.max(...lists.flat()) + 1, clients: 3 * count });
  // (The tokens of a resource that nobody locks with the middle list may go back: PROTOCOL 1.13.)
  const { fencing: _, ...settings } = drawn.settings;
  const { workload } = drawn;
  const { ttl } = settings;
  const first = drawRestarts(random, count, Math.ceil(ttl * random.between(0.5, 2)), ttl);
  const second = drawRestarts(random, count, lastEnd(first) + ttl, ttl);
  const clients = lists.flatMap((masters, step) =>
    Array.from({ length: count }, (_, index): ClientPlan => {
      // (Some plans are drawn with fewer clients.)
      const { startsAt: __, ...client } = drawn.clients[(step * count + index) % drawn.clients.length]!;
      const [begin, end] = [[undefined, first, second][step]?.[index], [first, second][step]?.[index]];
      return {
        ...client,
        masters,
        // By timers that may be fast.
        ...(begin ? { startsAt: Math.ceil(begin.startsAt * (1 + settings.driftFactor)) } : {}),
        ...(end ? { endsAt: end.endsAt } : {}),
      };
    }),
  );
  return {
    ...drawn,
    settings,
    duration: Math.max(drawn.duration, goneAt({ endsAt: lastEnd(second) }, settings) + 3 * ttl),
    clients,
    faults: [
      ...drawn.faults,
      ...(random.chance(0.8) ? absences(random, [...first, ...second], lists, ttl) : []),
    ],
    // Somebody holds a lock at most times, and there are fewer callers in each of more processes.
    workload: {
      ...workload,
      parallel: Math.min(workload.parallel ?? 1, 3),
      hold: Math.max(workload.hold, 0.8 * ttl),
      styles: { ...workload.styles, using: 1 },
      think: Math.min(workload.think, 0.1 * ttl),
    },
  };
}

/** The end of a client, and the start of the one in its place. */
interface Restart {
  readonly endsAt: number;
  readonly startsAt: number;
}

/** One after the other. */
function drawRestarts(random: Random, count: number, from: number, ttl: number): readonly Restart[] {
  let endsAt = from;
  return Array.from({ length: count }, () => {
    endsAt += Math.ceil(ttl * random.logUniform(0.01, 0.5));
    return { endsAt, startsAt: endsAt + Math.ceil(ttl * random.logUniform(0.001, 0.1)) };
  });
}

/** Around each restart a master is away for a moment: leases then have the votes of a bare quorum. */
function absences(
  random: Random,
  restarts: readonly Restart[],
  [before, , after]: Lists,
  ttl: number,
): readonly Fault[] {
  const lasting = before.filter((number) => after.includes(number));
  return restarts.map(({ endsAt }): Fault => {
    const lead = Math.min(endsAt, Math.ceil(ttl * random.between(0.3, 1.2)));
    const how = random.pick(["process", "power"] as const);
    const downFor = lead + Math.ceil(ttl * random.between(-0.2, 0.2));
    return { at: endsAt - lead, kind: "crash", masters: [random.pick(lasting)], how, downFor };
  });
}

function lastEnd(restarts: readonly Restart[]): number {
  return restarts.at(-1)!.endsAt;
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, number) => number);
}

/** Three masters become five or five three, or one of three or of five is replaced. */
function drawLists(random: Random): Lists {
  const kind = random.pick(["grow", "shrink", "replace", "replace"] as const);
  if (kind === "grow") return [upTo(3), upTo(4), upTo(5)];
  if (kind === "shrink") return [upTo(5), upTo(4), upTo(3)];
  const count = random.pick([3, 3, 5]);
  const old = random.integer(0, count - 1);
  return [upTo(count), upTo(count + 1), upTo(count + 1).filter((number) => number !== old)];
}
