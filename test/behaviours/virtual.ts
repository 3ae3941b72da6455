import type { LockNode, Redlock } from "@quorlock/redlock";
import { Engine, Kernel, Process, Random, Master as SimulatedMaster } from "@quorlock/simulation";
import type { ClientCopy } from "@quorlock/simulation/mutants";
import { OneWay, SimulatedConnection, SimulatedSubscription } from "@quorlock/simulation/network";
import {
  type Behaviour,
  type Bench,
  type Direction,
  defaults,
  type Faults,
  type Master,
  type OpenOptions,
  type Outcome,
  type Tap,
  Time,
  type WriteRefusal,
} from "./bench.ts";
import { isConnected, scriptsIn } from "./looking.ts";
import { publishedCopy } from "./published-copy.ts";

/** One way, ms. */
const latency = 0.5;
/** From a lost connection to the next try, ms. */
const reconnectDelay = 50;
/** The initial reading of all wall clocks, ms since the epoch. */
const start = Date.UTC(2030, 0, 1);
/** The longest case, ms of virtual time. */
const longest = 600_000;
/** The number of events of a case that never ends, in a second or two. */
const mostEvents = 500_000;

type Way = "requests" | "replies" | "pushes";

const directions: Readonly<Record<Direction, readonly Way[]>> = {
  requests: ["requests"],
  replies: ["replies", "pushes"],
  pushes: ["pushes"],
  both: ["requests", "replies", "pushes"],
};

/** Plays a case in virtual time; rejects if it fails, or does not end. */
export async function play(one: Behaviour, copy: ClientCopy = publishedCopy): Promise<void> {
  const bench = new VirtualBench(one, copy);
  let outcome: Outcome<void> | undefined;
  void bench.time.took(one.play(bench)).then((ended) => {
    outcome = ended;
  });
  const { kernel } = bench;
  await kernel.run(longest * 1000, () => outcome !== undefined || kernel.steps >= mostEvents);
  if (!outcome) throw new Error(`it did not end within ${kernel.now / 1000} ms and ${kernel.steps} events`);
  if (outcome.error !== undefined) throw outcome.error;
}

/** Masters and processes of the simulator. Time passes while nothing else can run: see `Kernel`. */
class VirtualBench implements Bench {
  readonly kernel = new Kernel(new Engine());
  readonly client: ClientCopy["module"];
  readonly masters: readonly VirtualMaster[];
  readonly faults: VirtualFaults = new VirtualFaults(this);
  readonly time: VirtualTime = new VirtualTime(this.kernel, this.process("case", true));
  readonly machines = new Map<Redlock, Machine>();
  readonly #copy: ClientCopy;

  readonly #isCluster: boolean;

  constructor({ masters: count, isCluster }: Behaviour, copy: ClientCopy) {
    this.#copy = copy;
    this.#isCluster = isCluster;
    this.client = copy.module;
    this.masters = Array.from(
      { length: count },
      (_, index) => new VirtualMaster(this.kernel, this.process(`master-${index}`, false)),
    );
    for (const { simulated } of this.masters)
      for (const source of scriptsIn(copy.module)) simulated.execute("SCRIPT", ["LOAD", source]);
  }

  process(name: string, isAsynchronous: boolean): Process {
    const random = new Random(1, name);
    return new Process(this.kernel, { name, isAsynchronous, wall: start, rate: 0, random, timerLateness: 0 });
  }

  async redlock(asked: OpenOptions = {}): Promise<Redlock> {
    const { on = this.masters, leads, isCold = false, through = (nodes) => nodes, ...options } = asked;
    const { module, connections, runtime: seenBy } = this.#copy;
    const process = this.process(`client-${this.machines.size}`, true);
    const links = on.map(
      (address) =>
        new Link(this.kernel, {
          client: process,
          address,
          target: (leads?.get(address) ?? address) as VirtualMaster,
          isCluster: this.#isCluster,
        }),
    );
    const runtime = seenBy(process);
    const { queue = true, groupCommit = true } = options;
    const nodes: readonly LockNode[] = connections(links.map(({ connection }) => connection)).map(
      (connection) => new module.RedisNode(connection, { runtime, queue, groupCommit }),
    );
    const redlock = new module.Redlock(through(nodes), { ...defaults, ...options, runtime });
    this.machines.set(redlock, { process, links });
    if (!isCold) await this.time.until("it is connected", () => isConnected(redlock));
    return redlock;
  }

  addressOf(_: Redlock, { name }: Master): string {
    return name;
  }
}

/** The process of a Redlock, and its ways to the masters. */
interface Machine {
  readonly process: Process;
  readonly links: readonly Link[];
}

class VirtualMaster implements Master {
  readonly name: string;
  readonly simulated: SimulatedMaster;
  isHung = false;
  endBusy: (() => void) | undefined;
  endRefusal: (() => void) | undefined;
  failBack: (() => void) | undefined;
  #laggingSince = Number.POSITIVE_INFINITY;
  readonly #kernel: Kernel;
  readonly #taps: string[][][] = [];
  readonly #written = new Set<string>();

  constructor(kernel: Kernel, process: Process) {
    this.name = process.name;
    this.#kernel = kernel;
    this.simulated = new SimulatedMaster(kernel, process, { mode: "aof-everysec" });
    this.simulated.watch({
      wrote: ({ key }) => void this.#written.add(key),
      published: () => {},
      writeMet: () => {},
      wasTwice: () => {},
      ran: () => {},
    });
  }

  lag(): void {
    this.#laggingSince = this.#kernel.now;
  }

  /** For how long nothing has reached its replica and its file, us. */
  get lagging(): number {
    return Math.max(0, this.#kernel.now - this.#laggingSince);
  }

  async call(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    if (this.isHung || !this.simulated.isUp)
      throw new Error(`${this.name} hangs or is down: it answers nobody`);
    const reply = this.simulated.execute(command, args);
    if (reply instanceof Error) throw reply;
    return reply;
  }

  async keys(): Promise<readonly string[]> {
    return [...this.#written].filter((key) => this.simulated.peek(key));
  }

  async tap(): Promise<Tap> {
    const commands: string[][] = [];
    this.#taps.push(commands);
    return { commands: async () => [...commands] };
  }

  executed(command: string, args: readonly (string | number)[]): void {
    const words = [command.toUpperCase(), ...args.map(String)];
    if (words[0] !== "TIME") for (const commands of this.#taps) commands.push(words);
  }
}

interface Ends {
  readonly client: Process;
  readonly address: Master;
  readonly target: VirtualMaster;
  readonly isCluster: boolean;
}

/** The connections of one Redlock to one master: one for commands, one that listens. */
class Link {
  readonly address: Master;
  readonly connection: SimulatedConnection;
  readonly #ways: Readonly<Record<Way, OneWay[]>> = { requests: [], replies: [], pushes: [] };
  readonly #cuts = new Set<Way>();
  /** Where its next connections are made to. */
  target: VirtualMaster;
  #subscription: SimulatedSubscription | undefined;

  constructor(kernel: Kernel, { client, address, target, isCluster }: Ends) {
    this.address = address;
    this.target = target;
    const random = new Random(1, client.name, address.name);
    const way = (direction: Way): OneWay => {
      const one = new OneWay(kernel, { shape: "constant", ms: latency }, longest * 1000, random);
      this.#ways[direction].push(one);
      return one;
    };
    const options = (answers: Way) => ({
      client,
      master: target.simulated,
      leadsTo: () => this.target.simulated,
      requests: way("requests"),
      replies: way(answers),
      reconnectDelay,
      isCluster,
    });
    const witness = {
      sent: () => {},
      executed: (command: string, args: readonly (string | number)[]) => this.target.executed(command, args),
      replyLost: () => {},
    };
    const hearing = { pushed: () => {}, heard: () => {}, lost: () => {} };
    this.connection = new SimulatedConnection(kernel, options("replies"), witness, () => {
      this.#subscription = new SimulatedSubscription(kernel, options("pushes"), hearing);
      this.pass();
      return this.#subscription;
    });
    this.pass();
  }

  cut(direction: Direction): void {
    for (const one of directions[direction]) this.#cuts.add(one);
    this.pass();
  }

  heal(): void {
    this.#cuts.clear();
    this.pass();
  }

  slow(ms: number, direction: Direction): void {
    for (const one of directions[direction])
      for (const way of this.#ways[one]) way.slowness = (latency + ms) / latency;
  }

  reset(late: number | undefined): void {
    this.connection.reset(late === undefined ? "lost" : "delivered", late === undefined ? 0 : late * 1000);
    this.#subscription?.reset();
  }

  /** Commands that arrive at a master that hangs stay in its sockets. */
  pass(): void {
    for (const direction of directions.both) {
      const isCut = this.#cuts.has(direction) || (direction === "requests" && this.target.isHung);
      for (const way of this.#ways[direction]) way[isCut ? "cut" : "heal"]();
    }
  }
}

class VirtualFaults implements Faults {
  readonly #bench: VirtualBench;

  constructor(bench: VirtualBench) {
    this.#bench = bench;
  }

  async hang(masters: readonly Master[]): Promise<void> {
    this.#hang(masters, true);
  }

  async resume(masters: readonly Master[]): Promise<void> {
    this.#hang(masters, false);
  }

  async kill(masters: readonly Master[]): Promise<void> {
    for (const { simulated } of masters as readonly VirtualMaster[]) simulated.crash("process");
  }

  async restart(masters: readonly Master[], isKept = false): Promise<void> {
    await this.kill(masters);
    this.#hang(masters, false);
    for (const { simulated } of masters as readonly VirtualMaster[]) {
      simulated.restart();
      if (!isKept) simulated.flushAll();
    }
  }

  async lag(masters: readonly Master[]): Promise<void> {
    for (const master of masters as readonly VirtualMaster[]) master.lag();
  }

  async failOver(masters: readonly Master[], areDemoted = false): Promise<void> {
    for (const master of masters as readonly VirtualMaster[])
      master.failBack = master.simulated.failOver(master.lagging, areDemoted);
  }

  async failBack(masters: readonly Master[]): Promise<void> {
    for (const { failBack } of masters as readonly VirtualMaster[]) failBack?.();
  }

  async resync(masters: readonly Master[]): Promise<void> {
    for (const master of masters as readonly VirtualMaster[])
      master.simulated.resyncFromReplica(master.lagging);
  }

  async reload(masters: readonly Master[]): Promise<void> {
    for (const master of masters as readonly VirtualMaster[]) master.simulated.reload(master.lagging);
  }

  async cut(of: Redlock, masters: readonly Master[], direction: Direction = "both"): Promise<void> {
    for (const link of this.#links(of, masters)) link.cut(direction);
  }

  async heal(of: Redlock, masters: readonly Master[]): Promise<void> {
    for (const link of this.#links(of, masters)) link.heal();
  }

  async reset(of: Redlock, masters: readonly Master[], late?: number): Promise<void> {
    for (const link of this.#links(of, masters)) link.reset(late);
    // The client hears of it in an event of its own.
    await this.#bench.time.pass(0);
  }

  silence(): Promise<void> {
    return Promise.reject(new Error("no connection of the simulator is silent while another one works"));
  }

  async slow(
    of: Redlock,
    masters: readonly Master[],
    ms: number,
    direction: Direction = "both",
  ): Promise<void> {
    for (const link of this.#links(of, masters)) link.slow(ms, direction);
  }

  async refuseWrites(masters: readonly Master[], why: WriteRefusal | undefined): Promise<void> {
    for (const master of masters as readonly VirtualMaster[]) {
      master.endRefusal?.();
      master.endRefusal = why && master.simulated.refuseWrites(why);
    }
  }

  async busy(masters: readonly Master[], isBusy: boolean): Promise<void> {
    for (const master of masters as readonly VirtualMaster[]) {
      master.endBusy?.();
      master.endBusy = isBusy ? master.simulated.beBusy() : undefined;
    }
  }

  async lose(masters: readonly Master[], key: string): Promise<void> {
    for (const master of masters) await master.call("DEL", key);
  }

  async step(clock: readonly Master[] | Redlock, ms: number): Promise<void> {
    if (!Array.isArray(clock)) this.#machine(clock as Redlock).process.stepWall(ms);
    else for (const { simulated } of clock as readonly VirtualMaster[]) simulated.stepWall(ms);
  }

  async drift(masters: readonly Master[], ms: number): Promise<void> {
    for (const { simulated } of masters as readonly VirtualMaster[]) simulated.process.setRate(ms * 1000);
  }

  async lead(of: Redlock, address: Master, to: Master): Promise<void> {
    for (const link of this.#links(of, [address])) link.target = to as VirtualMaster;
  }

  async select(of: Redlock, masters: readonly Master[], database: number): Promise<void> {
    for (const link of this.#links(of, masters)) link.connection.select(database);
    // The client hears of it in an event of its own.
    await this.#bench.time.pass(0);
  }

  async end(of: Redlock): Promise<void> {
    const { process, links } = this.#machine(of);
    for (const { connection } of links) connection.disconnect();
    process.kill();
  }

  async moveSlot(cluster: Master, pause: number, ms: number): Promise<void> {
    (cluster as VirtualMaster).simulated.moveSlot(pause * 1000, ms * 1000);
  }

  async block(of: Redlock, ms: number): Promise<void> {
    // (The first of two events at one time: the case goes on before what was due meanwhile.)
    const passed = this.#bench.time.pass(ms);
    this.#machine(of).process.freeze(ms * 1000);
    await passed;
  }

  async suspend(of: Redlock, ms: number): Promise<void> {
    const passed = this.#bench.time.pass(ms);
    this.#machine(of).process.suspend(ms * 1000);
    await passed;
  }

  #hang(masters: readonly Master[], isHung: boolean): void {
    for (const master of masters as readonly VirtualMaster[]) master.isHung = isHung;
    for (const { links } of this.#bench.machines.values()) for (const link of links) link.pass();
  }

  #machine(of: Redlock): Machine {
    return this.#bench.machines.get(of)!;
  }

  #links(of: Redlock, masters: readonly Master[]): readonly Link[] {
    return this.#machine(of).links.filter(({ address }) => masters.includes(address));
  }
}

class VirtualTime extends Time {
  readonly slack = 0;
  protected readonly pause = 0.1;
  readonly lateness = (): number => 0;
  readonly #kernel: Kernel;
  readonly #process: Process;

  /** `process`: in whose turns the case goes on. */
  constructor(kernel: Kernel, process: Process) {
    super();
    this.#kernel = kernel;
    this.#process = process;
  }

  now(): number {
    return this.#kernel.now / 1000;
  }

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const turn = (): void => this.#process.deliver(resolve);
      this.#kernel.engine.schedule(turn, Math.max(1, Math.round(ms * 1000)));
    });
  }
}
