import type { Persistence } from "../master/durability.ts";
import type { Latency } from "../network/latency.ts";
import { Random } from "../random.ts";
import { withCallers } from "./draw-callers.ts";
import { drawFault } from "./draw-fault.ts";
import { withWaiting } from "./draw-waiting.ts";
import type { Fault, FaultName, Targets } from "./fault.ts";
import { drawRate, type Scale } from "./fault-fields.ts";
import {
  type ClientPlan,
  type LockSettings,
  type MasterPlan,
  type Plan,
  type Style,
  styles,
} from "./plan.ts";

// Swarm testing: each seed draws its whole configuration, and leaves some kinds of faults out altogether. A run
// with every fault on hardly ever reaches the states that need one fault to stay away.

/** The faults that may happen. */
interface Model {
  /** Each in every other seed. */
  readonly kinds: readonly FaultName[];
  /** Each in one seed of ten. */
  readonly rareKinds: readonly FaultName[];
  /** The largest deviation of a clock's rate, as a fraction of the drift factor, on either side. */
  readonly shareOfDrift: number;
  /** Whether clocks run at that very bound, or are perfect, more often than anything between. */
  readonly hasExtremeRates: boolean;
  /** The largest step of a master's wall clock, as a fraction of the ttl. */
  readonly masterStep: number;
  /** Of masters that do not keep every vote. */
  readonly rarePersistence: readonly Persistence[];
}

/** The assumptions: PROTOCOL 1. */
export const promised: Model = {
  kinds: ["freeze", "suspend", "stall", "rate", "step", "cut", "reset", "slow", "crash", "refuse", "kill"],
  rareKinds: [],
  shareOfDrift: 0.49,
  hasExtremeRates: true,
  masterStep: 0,
  rarePersistence: [],
};

/**
 * A little more than is promised: clocks beyond the drift factor, and single masters whose wall clock steps or that
 * forget votes. Most runs still end well: what breaks is to be sought.
 */
const beyond: Model = {
  ...promised,
  rareKinds: ["flush", "promote"],
  shareOfDrift: 0.65,
  hasExtremeRates: false,
  masterStep: 0.05,
  rarePersistence: [{ mode: "aof-everysec" }, { mode: "rdb", interval: 1000 }, { mode: "none" }],
};

/** As promised with the restart guard: whenever and however often masters forget what they have voted for. */
const forgetful: Model = {
  ...promised,
  kinds: [...promised.kinds, "flush", "promote", "resync", "reload", "crash"],
  rarePersistence: [{ mode: "aof-everysec" }, { mode: "rdb", interval: 1000 }, { mode: "none" }],
};

/** One seed of ten. */
const rarely = 0.1;

/** The plan of a seed, inside the promised model: whatever it does, nothing may be violated. */
export function promisedPlan(seed: number): Plan {
  return planFrom(seed, new Random(seed, "plan"), promised);
}

/** The plan of a seed, a little outside the promised model: something may be violated. */
export function beyondPlan(seed: number): Plan {
  return planFrom(seed, new Random(seed, "plan beyond"), beyond);
}

/** The plan of a seed inside what is promised with the restart guard: nothing may be violated. */
export function guardedPlan(seed: number): Plan {
  const random = new Random(seed, "plan guarded");
  const plan = planFrom(seed, random, forgetful);
  const { ttl } = plan.settings;
  const persistence = random.pick([...forgetful.rarePersistence, undefined]);
  const { latency } = plan.network;
  const guarded: Plan = {
    ...plan,
    // In the end every client must get a lock, and no TTL may exceed maxTtl: replies must come in time.
    network: {
      ...plan.network,
      latency: latency.shape === "two-peaks" ? { shape: "constant", ms: latency.fast } : latency,
      ...(random.stream("name").chance(0.2) ? { oneName: "mymaster" } : {}),
    },
    settings: { ...plan.settings, restartGuard: { maxTtl: Math.round(ttl * random.pick([1, 1, 1.5])) } },
    masters: persistence ? plan.masters.map((master) => ({ ...master, persistence })) : plan.masters,
  };
  return withFailovers(withDurability(guarded, random.stream("durable")), random.stream("failovers"));
}

/** In some plans whose masters keep all votes through a crash, the clients rely on that. */
function withDurability(plan: Plan, random: Random): Plan {
  const { settings, masters, faults } = plan;
  if (!random.chance(0.5) || masters.some(({ persistence }) => persistence.mode !== "aof-always"))
    return plan;
  // One that is thrown back and then restarted looks as if it had kept all (PROTOCOL 9.12).
  const excluded: readonly FaultName[] = random.chance(0.5) ? ["crash"] : ["promote", "resync", "reload"];
  return {
    ...plan,
    settings: { ...settings, restartGuard: { ...settings.restartGuard!, durable: true } },
    faults: faults.filter(({ kind }) => !excluded.includes(kind)),
  };
}

/** In some plans clients are led to replicas and back. */
function withFailovers(plan: Plan, random: Random): Plan {
  const { settings, masters, faults, duration } = plan;
  const isThrownBack = faults.some(({ kind }) => kind === "crash") && settings.restartGuard?.durable;
  if (!random.chance(0.3) || isThrownBack) return plan;
  if (random.chance(0.5)) return withSeenFailovers(plan, random);
  const { ttl } = settings;
  const failover = (): Fault => ({
    at: Math.round(random.between(0, duration)),
    kind: "failover",
    masters: random.chance(0.3) ? masters.map((_, index) => index) : [random.integer(0, masters.length - 1)],
    lag: Math.round(random.logUniform(1, ttl)),
    duration: Math.ceil(ttl * random.logUniform(0.05, 3)),
    demoted: true,
  });
  return { ...plan, faults: [...faults, ...Array.from({ length: random.integer(1, 4) }, failover)] };
}

/**
 * The clients come back to an old master that was no replica. They notice that if each of them has looked at the replica (PROTOCOL
 * 9.5): so all use locks from the beginning, nothing else happens, and they are away for long enough.
 */
function withSeenFailovers(plan: Plan, random: Random): Plan {
  const { settings, masters, clients, network, workload } = plan;
  const { ttl, nodeTimeout = 500 } = settings;
  const ms = random.logUniform(0.01, 0.15) * Math.min(nodeTimeout, ttl / 20);
  const away = Math.ceil(2 * network.reconnectDelay + 2 * nodeTimeout + 40 * ms);
  let at = 4 * ttl;
  const failovers = Array.from({ length: random.integer(1, 4) }, (): Fault => {
    const all = masters.map((_, index) => index);
    const whom = random.pick([all, [random.pick(all)], all.filter(() => random.chance(0.5))]);
    const duration = away + Math.ceil(ttl * random.logUniform(0.05, 3));
    const lag = Math.round(random.logUniform(1, ttl));
    const fault: Fault = { at, kind: "failover", masters: whom, lag, duration };
    at += duration + away + Math.ceil(ttl * random.logUniform(0.05, 2));
    return fault;
  });
  return {
    ...plan,
    duration: at,
    clients: clients.slice(0, 4).map((client) => ({ ...client, startsAt: 0 })),
    network: { ...network, latency: { shape: "constant", ms } },
    workload: {
      ...workload,
      // (These runs are long: few calls at a time, and pauses between them.)
      think: ttl * 0.1,
      hold: Math.max(workload.hold, ttl * 0.05),
      parallel: Math.min(workload.parallel ?? 1, 3),
    },
    faults: failovers,
  };
}

function amongThree(aim: Targets): Targets {
  return aim === "here" ? aim : aim.filter((number) => number < 3);
}

/**
 * The plan of a seed in which two of three masters are one server. A quorum is both servers, and never the one alone:
 * nothing may be violated.
 */
export function sharedServerPlan(seed: number): Plan {
  const plan = promisedPlan(seed);
  const [first, second = first, third = first] = plan.masters as [MasterPlan, ...MasterPlan[]];
  const faults = plan.faults
    .filter((fault) => !("master" in fault))
    .map((fault) => ("masters" in fault ? { ...fault, masters: amongThree(fault.masters) } : fault));
  return { ...plan, masters: [{ ...first, sameAs: 1 }, second, third], faults };
}

/** Those that a Cluster survives, beside its own: it keeps all keys. */
const ofClusters: readonly FaultName[] = [
  "freeze",
  "suspend",
  "stall",
  "rate",
  "cut",
  "reset",
  "slow",
  "kill",
];

/**
 * The plan of a seed with one Cluster as the only master, whose slot of all locks moves again and again: nothing may be
 * violated. Waiters poll.
 */
export function clusterPlan(seed: number): Plan {
  const plan = planWith(seed, { masters: 1, kinds: ofClusters });
  const random = new Random(seed, "plan of a Cluster");
  const { ttl } = plan.settings;
  const move = (): Fault => ({
    at: Math.round(random.between(0, plan.duration)),
    kind: "reshard",
    masters: [0],
    pause: Math.ceil(ttl * random.logUniform(0.001, 0.1)),
    duration: Math.ceil(ttl * random.logUniform(0.02, 1)),
  });
  return {
    ...plan,
    masters: plan.masters.map(({ offset, rate, persistence }) => ({
      offset,
      rate,
      persistence,
      isCluster: true,
    })),
    settings: { ...plan.settings, queue: false, fencing: false },
    faults: [
      ...plan.faults.filter(({ kind }) => ofClusters.includes(kind)),
      ...Array.from({ length: random.integer(2, 8) }, move),
    ],
  };
}

/**
 * The plan of a seed in which addresses change places: connections that are made then reach another server of the
 * plan. Some servers are too busy then to say which one they are. Each is one vote, by whichever address: nothing may be
 * violated.
 */
export function movedPlan(seed: number): Plan {
  const plan = promisedPlan(seed);
  const random = new Random(seed, "plan moved");
  const changes = Array.from({ length: random.integer(2, 6) }, () => swapped(plan, random));
  return { ...plan, faults: [...plan.faults, ...changes.flat()] };
}

/** Two addresses change places, for one client or all, and their connections are made again one after the other. */
function swapped({ masters, clients, settings: { ttl }, duration }: Plan, random: Random): readonly Fault[] {
  const at = Math.round(random.between(0, duration));
  const lasts = Math.ceil(ttl * random.logUniform(0.2, 3));
  const everyone = clients.map((_, index) => index);
  const who = random.chance(0.5) ? everyone : [random.pick(everyone)];
  const [one, other] = [random.integer(0, masters.length - 1), random.integer(0, masters.length - 1)];
  const breaks = (): number => at + Math.ceil(random.between(0, lasts / 2));
  return [
    { at, kind: "move", clients: who, masters: [one], to: other, duration: lasts },
    { at, kind: "move", clients: who, masters: [other], to: one, duration: lasts },
    { at: breaks(), kind: "reset", clients: who, masters: [one], inFlight: "delivered" },
    { at: breaks(), kind: "reset", clients: who, masters: [other], inFlight: "lost" },
    { at, kind: "busy", masters: [random.pick([one, other])], duration: lasts / 2 },
  ];
}

/** Beside the keys that are removed: what keeps single masters from an extension, and lets it come late. */
const besideRemoval: readonly FaultName[] = ["cut", "reset", "slow", "freeze"];

/**
 * The plan of a seed in which the keys of locks are deleted, on one master or on several at a time or one after the other,
 * while they are extended: a holder is told by the extension that finds out that a majority had forgotten it at one time, and is
 * told nothing of the kind where none can have.
 */
export function removalPlan(seed: number): Plan {
  const plan = planWith(seed, { kinds: besideRemoval });
  const random = new Random(seed, "plan of removals");
  const { settings, clients, masters, duration, workload } = plan;
  const { ttl } = settings;
  const removal = (): readonly Fault[] => {
    const whom = masters.map((_, index) => index).filter(() => random.chance(random.pick([0.3, 0.6, 1])));
    const at = Math.round(random.between(0, duration));
    const apart = random.pick([0, 0, ttl / 20, ttl / 3]);
    return whom.map((master, place) => ({
      at: Math.round(at + place * apart * random.between(0.5, 1.5)),
      kind: "remove",
      masters: [master],
    }));
  };
  return {
    ...plan,
    // A hold that is passed on within a process has a history that no checker knows.
    workload: {
      resources: 1,
      hold: 3 * ttl,
      think: workload.think,
      styles: { extend: 4, try: 1, acquire: 1 },
    },
    clients: clients.map(({ offset, rate, timerLateness }) => ({ offset, rate, timerLateness })),
    settings: { ...settings, fencing: false, queue: random.chance(0.5) },
    faults: [
      ...plan.faults.filter(({ kind }) => besideRemoval.includes(kind)),
      ...Array.from({ length: random.integer(2, 8) }, removal).flat(),
    ],
  };
}

/** The plan of a seed in which single keys are evicted: the same holds, for each key alone. */
export function evictionPlan(seed: number): Plan {
  const plan = removalPlan(seed);
  const random = new Random(seed, "plan of evictions");
  const faults = plan.faults.flatMap((fault): readonly Fault[] => {
    if (fault.kind !== "remove" || "on" in fault) return [fault];
    const { at, masters } = fault;
    return [0, 1, 2].map(() => ({ at, kind: "evict", masters, nth: random.integer(0, 99) }));
  });
  return { ...plan, settings: { ...plan.settings, queue: true }, faults };
}

/** Bound on the difference between two clocks of a plan, ms: no clock counts as skewed. */
const farthest = 1e9;

/**
 * The plan of a seed with the masters' clocks watched; in every second plan the clock of a master, or of all, is set
 * by more than the ttl. That must be reported, and nothing else.
 */
export function watchedPlan(seed: number): Plan {
  const plan = promisedPlan(seed);
  const random = new Random(seed, "plan watched");
  if (random.stream("outliers").chance(0.3)) return outlierPlan(seed);
  const { ttl } = plan.settings;
  const all = plan.masters.map((_, index) => index);
  const still = random.stream("still");
  const standsStill = still.chance(0.2);
  const step = (): Fault => {
    const at = Math.round(random.between(0, plan.duration));
    if (standsStill)
      return { at, kind: "still", masters: [still.pick(all)], duration: ttl * still.logUniform(0.3, 3) };
    const masters = random.chance(0.3) ? all : [random.pick(all)];
    const by = random.pick([-1, 1]) * Math.round(ttl * random.logUniform(1.1, 100));
    return { at, kind: "step", clients: [], masters, by };
  };
  const steps = random.chance(0.5) ? Array.from({ length: random.integer(1, 6) }, step) : [];
  return {
    ...plan,
    settings: { ...plan.settings, clockWatch: { maxOffset: farthest, exclude: random.chance(0.5) } },
    faults: [...plan.faults, ...steps],
  };
}

/**
 * The plan of a seed in which every client excludes masters by the clocks that it reads in a round, and the clocks of
 * at most a tolerated minority are set once, so far that they agree with no other. Locks are as safe as ever there.
 */
export function outlierPlan(seed: number, plan: Plan = promisedPlan(seed)): Plan {
  const random = new Random(seed, "plan outliers");
  const { ttl } = plan.settings;
  // Upper bound on the drift of all clocks by the end.
  const maxOffset = Math.round(plan.duration * 0.3 + 20 * ttl);
  const isSpare = (index: number): boolean => index < Math.ceil(plan.masters.length / 2) - 1;
  const step = (index: number): Fault => ({
    at: Math.round(random.between(0, plan.duration)),
    kind: "step",
    clients: [],
    masters: [index],
    by: random.pick([-1, 1, 1]) * Math.round(maxOffset * random.logUniform(3, 100)),
  });
  return {
    ...plan,
    masters: plan.masters.map((master) => ({ ...master, offset: 0 })),
    clients: plan.clients.map((client) => ({ ...client, isForeign: false })),
    settings: { ...plan.settings, clockWatch: { maxOffset, exclude: true } },
    faults: [...plan.faults, ...plan.masters.flatMap((_, index) => (isSpare(index) ? [step(index)] : []))],
  };
}

/** The same where masters forget votes and the clients use the restart guard as well: nothing may be violated. */
export function guardedOutlierPlan(seed: number): Plan {
  const plan = guardedPlan(seed);
  // (A report names the master: each has a name of its own.)
  const { oneName: _, ...network } = plan.network;
  return outlierPlan(seed, { ...plan, network });
}

/**
 * Whether the watch compensates every step of a master: at most a tolerated minority is set, once, and so far that
 * their clocks agree with no other.
 */
export function excludesAllSteps({ settings, masters, clients, faults }: Plan): boolean {
  const { exclude = false, maxOffset = 1000 } = settings.clockWatch ?? {};
  const steps = faults.filter((fault) => fault.kind === "step").filter((step) => step.masters.length > 0);
  const stepped = steps.flatMap(({ masters }) => (masters === "here" ? [] : masters));
  return (
    exclude &&
    faults.every(({ kind }) => kind !== "still") &&
    clients.every(({ isForeign }) => !isForeign) &&
    masters.every(({ offset }) => offset === 0) &&
    steps.every(({ by, masters }) => masters !== "here" && Math.abs(by) > 2 * maxOffset) &&
    new Set(stepped).size === stepped.length &&
    stepped.length < Math.ceil(masters.length / 2)
  );
}

/** For more faults and clocks like those that {@link beyondPlan} has drawn for this plan. */
export function scaleBeyond({ masters, clients, settings, duration }: Plan, random: Random): Scale {
  return scaleOf(beyond, random, { masters: masters.length, clients: clients.length, settings, duration });
}

interface Size {
  readonly masters: number;
  readonly clients: number;
  readonly settings: LockSettings;
  readonly duration: number;
}

function scaleOf(model: Model, random: Random, { settings, ...size }: Size): Scale {
  const { ttl, driftFactor } = settings;
  const rate = driftFactor * 1_000_000 * model.shareOfDrift;
  return {
    random,
    ...size,
    ttl,
    rate,
    hasExtremeRates: model.hasExtremeRates,
    masterStep: model.masterStep * ttl,
    kinds: [...model.kinds, ...model.rareKinds],
  };
}

/** The properties that are given and not drawn. */
export interface Given {
  readonly masters: number;
  readonly clients: number;
  readonly settings: LockSettings;
  readonly kinds: readonly FaultName[];
}

/** A plan whose faults are of the promised kinds or of those given, with the rest of what is given as it is. */
export function planWith(seed: number, given: Partial<Given>): Plan {
  const model = given.kinds ? { ...promised, kinds: given.kinds } : promised;
  return planFrom(seed, new Random(seed, "plan with"), model, given);
}

function planFrom(seed: number, random: Random, model: Model, given: Partial<Given> = {}): Plan {
  const settings = given.settings ?? drawSettings(random);
  const drawn = { masters: random.pick([1, 2, 3, 3, 3, 4, 5, 5, 5, 7]), clients: random.integer(2, 6) };
  const size: Size = {
    settings,
    masters: given.masters ?? drawn.masters,
    clients: given.clients ?? drawn.clients,
    duration: Math.round(random.between(4, 12) * settings.ttl),
  };
  const kinds = [
    ...model.kinds.filter(() => random.chance(0.5)),
    ...model.rareKinds.filter(() => random.chance(rarely)),
  ];
  const scale: Scale = { ...scaleOf(model, random, size), kinds };
  const plan: Plan = {
    version: 1,
    seed,
    duration: scale.duration,
    masters: drawMasters(scale, model),
    clients: Array.from({ length: scale.clients }, () => drawClient(scale)),
    network: {
      latency: drawLatencyShape(random, settings),
      longestLatency: 2 * settings.ttl,
      reconnectDelay: random.integer(1, 200),
    },
    settings,
    workload: drawWorkload(scale),
    faults: kinds.length === 0 ? [] : Array.from({ length: random.integer(0, 24) }, () => drawFault(scale)),
  };
  const clocked =
    model.hasExtremeRates && random.chance(rarely) ? withWorstClocks(plan, Math.floor(scale.rate)) : plan;
  if (given.settings) return clocked;
  const waiting = withWaiting(clocked, random.stream("waiting"));
  const calling = withCallers(waiting, random.stream("callers"));
  return withFencing(withSelects(calling, scale, random.stream("database")), random.stream("fencing"));
}

/** In one of eight a client is switched to another database, while it holds something or waits. */
function withSelects(plan: Plan, scale: Scale, random: Random): Plan {
  if (!random.chance(1 / 8)) return plan;
  const draw = (): Fault => drawFault({ ...scale, clients: plan.clients.length, random, kinds: ["select"] });
  return { ...plan, faults: [...plan.faults, ...Array.from({ length: random.integer(1, 4) }, draw)] };
}

/** Every other one. */
function withFencing(plan: Plan, random: Random): Plan {
  return random.chance(0.5) ? { ...plan, settings: { ...plan.settings, fencing: true } } : plan;
}

/** Every master expires keys as early, and every client counts on its lease as long, as drift allows: no margin is left. */
function withWorstClocks(plan: Plan, rate: number): Plan {
  return {
    ...plan,
    masters: plan.masters.map((master) => ({ ...master, rate })),
    clients: plan.clients.map((client) => ({ ...client, rate: -rate })),
  };
}

function drawSettings(random: Random): LockSettings {
  const ttl = Math.round(random.logUniform(60, 10_000));
  const nodeTimeout = Math.max(1, Math.round(ttl * random.between(0.02, 0.24)));
  return {
    ttl,
    driftFactor: random.pick([0.01, 0.01, 0.02, 0.05]),
    ...(random.chance(0.5) ? { nodeTimeout } : {}),
    retryCount: random.integer(0, 10),
    retryDelay: Math.round(random.logUniform(1, 200)),
    retryJitter: Math.round(random.logUniform(1, 100)),
    ...(random.chance(0.5) ? { waitTimeout: Math.round(random.between(0, 3) * ttl) } : {}),
    automaticExtensionThreshold: Math.round(ttl * random.between(0.1, 0.9)),
  };
}

function drawMasters(scale: Scale, { rarePersistence }: Model): readonly MasterPlan[] {
  const { random, masters } = scale;
  // Votes survive a crash only where every write is on disk before it is answered.
  const durable: Persistence = { mode: "aof-always" };
  const weak =
    rarePersistence.length > 0 && random.chance(rarely) ? random.integer(0, masters - 1) : undefined;
  return Array.from({ length: masters }, (_, index) => ({
    ...drawClock(scale),
    persistence: index === weak ? random.pick(rarePersistence) : durable,
  }));
}

function drawClient(scale: Scale): ClientPlan {
  return { ...drawClock(scale), timerLateness: scale.random.pick([0, 0.1, 0.5, 2]) };
}

function drawClock(scale: Scale): { offset: number; rate: number } {
  const { random } = scale;
  const offset = random.chance(0.3) ? 0 : Math.round(random.between(-100_000, 100_000));
  return { offset, rate: drawRate(scale) };
}

function drawLatencyShape(random: Random, { ttl, nodeTimeout }: LockSettings): Latency {
  const typical = random.logUniform(0.05, (nodeTimeout ?? ttl / 20) * 0.7);
  switch (random.integer(0, 3)) {
    case 0:
      return { shape: "constant", ms: typical };
    case 1:
      return { shape: "uniform", from: typical / 4, to: typical * 2 };
    case 2:
      return { shape: "log-normal", median: typical, sigma: random.between(0.2, 1.2) };
    default:
      return { shape: "two-peaks", fast: typical, slow: ttl * random.between(0.05, 0.6), slowShare: 0.05 };
  }
}

/** Pairs are drawn with the waiting. */
const drawnStyles = styles.filter((style) => style !== "pair");

function drawWorkload({ random, ttl }: Scale): Plan["workload"] {
  const weights = drawnStyles.map((style): [Style, number] => [
    style,
    random.chance(0.6) ? random.fraction() : 0,
  ]);
  if (weights.every(([, weight]) => weight === 0)) weights[0]![1] = 1;
  return {
    resources: random.integer(1, 3),
    hold: ttl * random.logUniform(0.02, 1.5),
    think: ttl * random.logUniform(0.005, 0.5),
    styles: Object.fromEntries(weights) as Record<Style, number>,
  };
}
