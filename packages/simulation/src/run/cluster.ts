import type { Checker, RunEvent } from "../checkers/checker.ts";
import { Findings, type Mark, type ViolationKind } from "../checkers/findings.ts";
import type { Kernel } from "../engine/kernel.ts";
import { Process } from "../engine/process.ts";
import { Master } from "../master/master.ts";
import type { ConnectionOptions } from "../network/dialer.ts";
import type { Link, Route } from "../network/link.ts";
import { OneWay } from "../network/one-way.ts";
import { SimulatedConnection, type Witness } from "../network/simulated-connection.ts";
import { type PushWitness, SimulatedSubscription } from "../network/simulated-subscription.ts";
import type { ClockPlan, Plan } from "../plan/plan.ts";
import { excludesAllSteps } from "../plan/swarm.ts";
import { Random } from "../random.ts";
import { asksForTime, type Place, TriggerPoints } from "./trigger-points.ts";

/** The initial reading of an ideal wall clock, ms since the epoch. */
const start = Date.UTC(2030, 0, 1);

type Ends = Required<Pick<ConnectionOptions, "client" | "master" | "leadsTo" | "reconnectDelay">>;

/**
 * If keys are removed, two may hold until the extension that finds it out. If masters' clocks step, no lock is safe: then only reports of steps and
 * the settling of calls are judged. But if all masters that step are excluded there must be no two holders either.
 */
function judgedOf(plan: Plan): (kind: ViolationKind) => boolean {
  const { settings, faults } = plan;
  const hasSteps = faults.some(
    (fault) => fault.kind === "still" || (fault.kind === "step" && fault.masters.length > 0),
  );
  const told: readonly ViolationKind[] = ["clock", "unsettled", "error"];
  const safe: readonly ViolationKind[] = ["belief", "margin", "effect", "fencing", "expired", "untold"];
  if (faults.some(({ kind }) => kind === "remove" || kind === "evict"))
    return (kind) => ["unheard", "needless", "untold", "expired", "unsettled", "error"].includes(kind);
  const judged = excludesAllSteps(plan) ? [...told, ...safe] : told;
  return settings.clockWatch && hasSteps ? (kind) => judged.includes(kind) : () => true;
}

/** Clients, masters and the network between them, as a plan describes them. */
export class Cluster {
  readonly kernel: Kernel;
  readonly findings: Findings;
  readonly triggerPoints: TriggerPoints = new TriggerPoints();
  readonly masters: readonly Master[];
  readonly clients: readonly Process[];
  /** By client, then by master. */
  readonly links: ReadonlyArray<readonly Link[]>;
  /** They see what happens, in this order. */
  checkers: readonly Pick<Checker, "see" | "end">[] = [];
  readonly plan: Plan;
  readonly #random: Random;

  constructor(kernel: Kernel, plan: Plan) {
    this.kernel = kernel;
    this.plan = plan;
    this.#random = new Random(plan.seed, "cluster");
    this.findings = new Findings(() => kernel.now, judgedOf(plan));
    const longestLag = Math.max(0, ...plan.faults.map((fault) => ("lag" in fault ? fault.lag : 0)));
    this.masters = plan.masters.map((master, index) => {
      const process = this.#process(`master-${index}`, false, master, 0);
      const phase = this.#random.stream(`disk ${index}`).integer(0, 1_000_000);
      const { persistence, forbids = [], listeners = [] } = master;
      const options = { phase, longestLag: longestLag * 1000, forbids, listeners };
      return new Master(kernel, process, persistence, options);
    });
    this.clients = plan.clients.map((client, index) =>
      this.#process(`client-${index}`, true, client, client.timerLateness),
    );
    this.links = this.clients.map((client, row) =>
      this.masters.map((_, column) => this.#link(client, row, column)),
    );
  }

  see(event: RunEvent): void {
    for (const checker of this.checkers) checker.see(event);
  }

  /** Its list of masters. */
  mastersOf(client: Process): readonly Master[] {
    return this.#listed(client, this.masters);
  }

  /** Those to the masters of its list. */
  linksOf(client: Process): readonly Link[] {
    return this.#listed(client, this.links[this.clients.indexOf(client)]!);
  }

  #listed<T>(client: Process, all: readonly T[]): readonly T[] {
    const list = this.plan.clients[this.clients.indexOf(client)]!.masters;
    return list ? list.map((number) => all[number]!) : all;
  }

  /** Whether it would lock in another database than the others do, on any master. */
  isElsewhere(client: Process): boolean {
    return this.linksOf(client).some(({ commands }) => commands.connection.database !== 0);
  }

  #process(name: string, isAsynchronous: boolean, clock: ClockPlan, timerLateness: number): Process {
    const random = this.#random.stream(name);
    const wall = start + clock.offset;
    return new Process(this.kernel, { name, isAsynchronous, wall, rate: clock.rate, random, timerLateness });
  }

  #link(client: Process, row: number, column: number): Link {
    const { latency, longestLatency, reconnectDelay, oneName } = this.plan.network;
    const oneWay = (direction: string): OneWay => {
      const random = this.#random.stream(`${direction} ${row} ${column}`);
      return new OneWay(this.kernel, latency, longestLatency * 1000, random);
    };
    const master = this.masters[this.plan.masters[column]!.sameAs ?? column]!;
    const route: Route = { away: undefined };
    const ends = { client, master, reconnectDelay, leadsTo: () => route.away?.at ?? master };
    const commands = { requests: oneWay("requests"), replies: oneWay("replies") };
    let pushes: Link["pushes"] | undefined;
    // Most clients of a large cluster never wait: made for the first who asks.
    const listening = (): Link["pushes"] => {
      pushes ??= this.#listening(ends, oneWay("subscriptions"), oneWay("pushes"));
      return pushes;
    };
    const { isCluster = false } = this.plan.masters[column]!;
    const options = { ...ends, ...commands, isCluster, ...(oneName === undefined ? {} : { name: oneName }) };
    const connection = new SimulatedConnection(
      this.kernel,
      options,
      this.#witness(ends),
      () => listening().connection,
    );
    return {
      route,
      commands: { ...commands, connection },
      get pushes() {
        return listening();
      },
    };
  }

  #listening(ends: Ends, requests: OneWay, replies: OneWay): Link["pushes"] {
    const options = { ...ends, requests, replies };
    const connection = new SimulatedSubscription(this.kernel, options, this.#pushWitness(ends));
    return { requests, replies, connection };
  }

  #pushWitness(place: Place): PushWitness {
    return {
      pushed: () => this.triggerPoints.raise("push sent", place),
      heard: () => this.triggerPoints.raise("push heard", place),
      lost: () => this.findings.reached("push lost"),
    };
  }

  #witness(place: Required<Place>): Witness {
    const { ttl, nodeTimeout = ttl / 4, clockWatch } = this.plan.settings;
    const reached = (mark: Mark): void => this.findings.reached(mark);
    return {
      sent: (command, args) => this.triggerPoints.sent(place, command, args),
      executed: (command, args, reply, age) => {
        this.triggerPoints.executed(place, command, args, reply);
        // (Where nothing is checked, nobody asks for marks.)
        if (command === "SET") {
          if (reply === "OK" && age > nodeTimeout * 1000) reached("late SET applied");
          else if (reply === null) this.#markSplit(String(args[0]));
        } else if (reply instanceof Error && reply.message.startsWith("NOSCRIPT")) reached("unknown script");
      },
      replyLost: (command) => {
        if (command === "SET") reached("reply lost after SET");
      },
      ...(clockWatch
        ? {
            heard: (command, args, steppedBy, sentAt) => {
              if (asksForTime(command, args)) this.see({ is: "time heard", ...place, steppedBy, sentAt });
            },
          }
        : {}),
    };
  }

  /** Several tokens, and none with a quorum. */
  #markSplit(resource: string): void {
    const votes = new Map<unknown, number>();
    for (const master of this.masters) {
      const token = master.peek(resource)?.value;
      if (token !== undefined) votes.set(token, (votes.get(token) ?? 0) + 1);
    }
    const most = Math.max(0, ...votes.values());
    if (votes.size > 1 && most < Math.floor(this.masters.length / 2) + 1) this.findings.reached("split vote");
  }
}
