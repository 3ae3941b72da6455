import type { LockNode, Redlock } from "@quorlock/redlock";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import {
  clusterConfig,
  type Proxy as FaultProxy,
  formCluster,
  type MasterClock,
  type Masters,
  type Master as Server,
  Stalls,
  startMasters,
  startMastersWithClocks,
  startProxy,
  type Direction as WayOf,
} from "@quorlock/testbed";
import type { Redis } from "ioredis";
// The package makes nodes of clients: a case may stand between a Redlock and these.
import { connectionOf } from "../../packages/redlock/src/adapters/client-libraries.ts";
import { WireTap } from "../integration/fleet/wire-tap.ts";
import {
  type Behaviour,
  type Bench,
  type Direction,
  defaults,
  type Extra,
  type Faults,
  type Master,
  type OpenOptions,
  type Place,
  type Tap,
  Time,
  type WriteRefusal,
} from "./bench.ts";
import { isConnected, scriptsIn } from "./looking.ts";
import { publishedCopy } from "./published-copy.ts";
import { adminOf, follow, promote, type RealReplica, startCopied } from "./real-replica.ts";

const host = "127.0.0.1";
/** A port at which nobody listens. */
const nobody = 1;
/** The most Redlocks that a case has. */
const mostRedlocks = 5;
const mostMasters = 5;
/** How late a machine that does other work may be, ms, beside what `Stalls` sees. */
const slack = 200;
/** A process stood still for up to so much longer than `Stalls` sees, ms. */
const stallGrain = 10;

/** A client of some library, as it is opened and ended there. */
export interface UserClient {
  readonly client: object;
  select(database: number): Promise<unknown>;
  end(): void;
}

/** One way to reach real masters. */
export interface Setup {
  readonly name: string;
  /** A place beside "real" that a case may have a reason not to run on. */
  readonly place?: Place;
  /** One master is all there is. */
  readonly isSingle?: boolean;
  readonly isCluster?: boolean;
  readonly scripts?: boolean;
  readonly has?: Extra;
  /** The subject in the place of this client: something that looks like it. */
  readonly client?: Bench["client"];
  /** The prefix that makes a key of the name of a resource. */
  readonly keyPrefix?: string;
  open(port: number, server: Server): UserClient;
}

/** Why the case does not run there; `undefined` if it does. */
export function whyNotOn(
  { place, isSingle, isCluster = false, has }: Setup,
  { masters, isCluster: isOfCluster, notOn, takes }: Behaviour,
): string | undefined {
  if (takes !== has) return takes ? `it takes ${takes}` : `it takes no ${has}`;
  if (isOfCluster && !isCluster) return "it is about a Cluster";
  if (isSingle && masters > 1) return "it is about several masters";
  return notOn.real ?? (place && notOn[place]);
}

/** Real masters for the cases of one setup, and a proxy for each Redlock and master. */
export class RealMasters implements AsyncDisposable {
  readonly setup: Setup;
  readonly masters: readonly RealMaster[];
  /** By Redlock, then by master. */
  readonly proxies: ReadonlyArray<readonly FaultProxy[]>;
  readonly #started: Masters;

  static async start(setup: Setup): Promise<RealMasters> {
    const count = setup.isSingle ? 1 : mostMasters;
    const options = { config: setup.isCluster ? clusterConfig : [], say: () => {} };
    const clocked = setup.has === "clocks" ? await startMastersWithClocks(count, options) : undefined;
    const copied = setup.has === "replicas" ? await startCopied(count) : undefined;
    const started = clocked ?? copied ?? (await startMasters(count, options));
    const masters = started.list
      .slice(0, count)
      .map(
        (server, index) =>
          new RealMaster(server, setup.keyPrefix, clocked?.clocks[index], copied?.replicas[index]),
      );
    if (setup.isCluster) await formCluster(masters.map(({ admin }) => admin));
    const proxies = await Promise.all(
      Array.from({ length: mostRedlocks }, () =>
        Promise.all(masters.map(({ server }) => startProxy(server))),
      ),
    );
    return new RealMasters(setup, started, masters, proxies);
  }

  private constructor(
    setup: Setup,
    started: Masters,
    masters: readonly RealMaster[],
    proxies: ReadonlyArray<readonly FaultProxy[]>,
  ) {
    this.setup = setup;
    this.#started = started;
    this.masters = masters;
    this.proxies = proxies;
  }

  async play(one: Behaviour): Promise<void> {
    const masters = this.masters.slice(0, this.setup.isSingle ? 1 : one.masters);
    await this.#prepare(masters);
    const bench = new RealBench(this.setup, masters, this.proxies);
    try {
      await one.play(bench);
    } finally {
      await bench.end();
    }
  }

  /** As if nothing had been played on them. */
  async #prepare(masters: readonly RealMaster[]): Promise<void> {
    for (const proxy of this.proxies.flat()) {
      proxy.reset();
      proxy.pointTo({ host, port: this.#targetOf(proxy) });
      await proxy.heal();
    }
    for (const master of masters) await master.prepare(this.setup.scripts !== false);
  }

  #targetOf(proxy: FaultProxy): number {
    const index = this.proxies.find((row) => row.includes(proxy))!.indexOf(proxy);
    return this.masters[index]!.home.server.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.proxies.flat().map((proxy) => proxy.stop()));
    await Promise.all(this.masters.map((master) => master.stop()));
    await this.#started.stop();
  }
}

/** A server, and a connection to look at it. */
type Seat = Pick<RealReplica, "server" | "admin">;

class RealMaster implements Master {
  readonly name: string;
  readonly home: Seat;
  readonly #clock: MasterClock | undefined;
  readonly #replica: RealReplica | undefined;
  /** The one in its place. */
  #present: Seat;
  #isAway = false;
  #isReplica = false;
  #stepped = 0;

  constructor(server: Server, keyPrefix?: string, clock?: MasterClock, replica?: RealReplica) {
    this.name = `${server.host}:${server.port}`;
    this.home = { server, admin: adminOf(server, keyPrefix) };
    this.#present = this.home;
    this.#clock = clock;
    this.#replica = replica;
  }

  get server(): Server {
    return this.#present.server;
  }

  get admin(): Redis {
    return this.#present.admin;
  }

  get replica(): RealReplica {
    if (!this.#replica) throw new Error("these masters have no replicas, and keep nothing");
    return this.#replica;
  }

  call(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    if (this.#isAway) return Promise.reject(new Error(`${this.name} hangs or is down: it answers nobody`));
    return this.admin.call(command, ...args.map(String));
  }

  keys(): Promise<readonly string[]> {
    return this.admin.keys("*");
  }

  async tap(): Promise<Tap> {
    const tap = await WireTap.on(this.admin);
    const [, own] = / addr=(\S+) /.exec(String(await this.admin.call("CLIENT", "INFO")))!;
    const commands = async () => (await tap.commands()).filter(({ source }) => source !== own);
    return { commands: async () => (await commands()).map(({ words }) => words) };
  }

  async hang(): Promise<void> {
    this.#isAway = true;
    await this.server.hang();
  }

  async resume(): Promise<void> {
    await this.server.resume();
    this.#isAway = false;
  }

  async kill(): Promise<void> {
    this.#isAway = true;
    await this.server.kill();
  }

  async restart(): Promise<void> {
    await this.server.restart();
    this.#isAway = false;
  }

  async lag(): Promise<void> {
    await this.admin.save();
    await this.replica.lag();
  }

  async failOver(isDemoted: boolean): Promise<void> {
    await this.replica.promote();
    if (isDemoted) await this.admin.call("REPLICAOF", host, nobody);
    this.#present = this.replica;
  }

  async failBack(): Promise<void> {
    this.#present = this.home;
    await promote(this.admin);
  }

  async resync(): Promise<void> {
    await this.replica.promote();
    await follow(this.admin, this.replica.server);
    await promote(this.admin);
  }

  step(ms: number): void {
    if (!this.#clock) throw new Error("no clock of these masters is set");
    this.#clock.step(ms);
    this.#stepped += ms;
  }

  async refuseWrites(why: WriteRefusal | undefined): Promise<void> {
    if (why === "MISCONF") throw new Error("no real master is made to refuse by MISCONF");
    await this.admin.config("SET", "maxmemory", why === "OOM" ? "1" : "0");
    await this.admin.config("SET", "min-replicas-to-write", why === "NOREPLICAS" ? "1" : "0");
    // (A master of a Cluster refuses the command.)
    if (why === "READONLY" || this.#isReplica)
      await this.admin.call("REPLICAOF", ...(why === "READONLY" ? [host, nobody] : ["NO", "ONE"]));
    this.#isReplica = why === "READONLY";
  }

  async prepare(scripts: boolean): Promise<void> {
    if (this.#isAway) await this.restart();
    if (this.#stepped !== 0) this.step(-this.#stepped);
    if (this.#replica) {
      await this.failBack();
      await this.#replica.forget();
    }
    await this.refuseWrites(undefined);
    // Commands of the clients of the case before may not have been read yet, and their taps are told each command.
    await this.admin.call("CLIENT", "KILL", "SKIPME", "yes");
    await this.admin.flushall();
    if (scripts)
      for (const source of scriptsIn(publishedCopy.module)) await this.admin.script("LOAD", source);
  }

  async stop(): Promise<void> {
    this.home.admin.disconnect();
    await this.#replica?.stop();
  }
}

/** A Redlock's ways to its masters. */
interface Ways {
  readonly clients: readonly UserClient[];
  /** By master. */
  readonly proxies: ReadonlyMap<Master, FaultProxy>;
}

class RealBench implements Bench {
  readonly client: Bench["client"];
  readonly masters: readonly RealMaster[];
  readonly time: RealTime = new RealTime();
  readonly faults: RealFaults = new RealFaults(this);
  readonly ways = new Map<Redlock, Ways>();
  readonly #setup: Setup;
  readonly #proxies: ReadonlyArray<readonly FaultProxy[]>;

  constructor(setup: Setup, masters: readonly RealMaster[], proxies: ReadonlyArray<readonly FaultProxy[]>) {
    this.#setup = setup;
    this.client = setup.client ?? publishedCopy.module;
    this.masters = masters;
    this.#proxies = proxies;
  }

  async redlock(asked: OpenOptions = {}): Promise<Redlock> {
    const { on = this.masters, leads, isCold = false, through, ...options } = asked;
    const row = this.#proxies[this.ways.size]!;
    const proxies = new Map(this.masters.map((master, index) => [master as Master, row[index]!]));
    for (const [master, proxy] of proxies) proxy.pointTo((master as RealMaster).server);
    for (const [address, to] of leads ?? []) proxies.get(address)!.pointTo((to as RealMaster).server);
    const clients = on.map((master) =>
      this.#setup.open(proxies.get(master)!.port, (master as RealMaster).server),
    );
    const users = clients.map(({ client }) => client) as never[];
    const { queue = true, groupCommit = true } = options;
    const nodes = (): readonly LockNode[] =>
      users.map((user) => new this.client.RedisNode(connectionOf(user), { queue, groupCommit }));
    const passed = this.#setup.scripts === false ? withoutScripts(users) : through ? through(nodes()) : users;
    const redlock = new this.client.Redlock(passed, { ...defaults, ...options });
    this.ways.set(redlock, { clients, proxies });
    const { nodeTimeout = 0 } = { ...defaults, ...options };
    this.time.nodeTimeout = Math.max(this.time.nodeTimeout, nodeTimeout ?? 0);
    if (!isCold) await this.time.until("it is connected", () => isConnected(redlock));
    return redlock;
  }

  addressOf(redlock: Redlock, master: Master): string {
    return `${host}:${this.ways.get(redlock)!.proxies.get(master)!.port}`;
  }

  /** One that is left behind would reach the masters by its proxies again, in the next case. */
  async end(): Promise<void> {
    // (Peers end with their clients.)
    const ours = this.client === publishedCopy.module ? [...this.ways.keys()] : [];
    for (const redlock of ours) await this.faults.end(redlock).then(() => redlock.quit());
    for (const { clients } of this.ways.values()) for (const one of clients) one.end();
    this.time.end();
  }
}

const directions: Readonly<Record<Exclude<Direction, "pushes">, readonly WayOf[]>> = {
  requests: ["requests"],
  replies: ["replies"],
  both: ["requests", "replies"],
};

class RealFaults implements Faults {
  readonly #bench: RealBench;

  constructor(bench: RealBench) {
    this.#bench = bench;
  }

  hang(masters: readonly Master[]): Promise<void> {
    return each(masters, (master) => master.hang());
  }

  resume(masters: readonly Master[]): Promise<void> {
    return each(masters, (master) => master.resume());
  }

  kill(masters: readonly Master[]): Promise<void> {
    return each(masters, (master) => master.kill());
  }

  restart(masters: readonly Master[], isKept = false): Promise<void> {
    return each(masters, async (master) => {
      if (isKept) void master.replica;
      await master.restart();
    });
  }

  lag(masters: readonly Master[]): Promise<void> {
    return each(masters, (master) => master.lag());
  }

  async failOver(masters: readonly Master[], areDemoted = false): Promise<void> {
    await each(masters, (master) => master.failOver(areDemoted));
    this.#leadToPresent(masters);
  }

  async failBack(masters: readonly Master[]): Promise<void> {
    await each(masters, (master) => master.failBack());
    this.#leadToPresent(masters);
  }

  resync(masters: readonly Master[]): Promise<void> {
    return each(masters, (master) => master.resync());
  }

  reload(masters: readonly Master[]): Promise<void> {
    return each(masters, (master) => master.admin.call("DEBUG", "RELOAD", "NOSAVE"));
  }

  #leadToPresent(masters: readonly Master[]): void {
    for (const { proxies } of this.#bench.ways.values())
      for (const master of masters) proxies.get(master)!.leadTo((master as RealMaster).server);
  }

  async cut(of: Redlock, masters: readonly Master[], direction: Direction = "both"): Promise<void> {
    if (direction === "pushes") throw new Error("no proxy tells pushes from replies");
    for (const proxy of this.#proxies(of, masters)) for (const way of directions[direction]) proxy.hold(way);
  }

  async heal(of: Redlock, masters: readonly Master[]): Promise<void> {
    for (const proxy of this.#proxies(of, masters)) proxy.release();
  }

  async silence(of: Redlock, masters: readonly Master[]): Promise<void> {
    for (const proxy of this.#proxies(of, masters)) proxy.freeze();
  }

  async reset(of: Redlock, masters: readonly Master[], late?: number): Promise<void> {
    if (late !== undefined) throw new Error("no real packet is made to overtake another");
    for (const proxy of this.#proxies(of, masters)) proxy.reset();
  }

  async slow(
    of: Redlock,
    masters: readonly Master[],
    ms: number,
    direction: Direction = "both",
  ): Promise<void> {
    if (direction === "pushes") throw new Error("no proxy tells pushes from replies");
    for (const proxy of this.#proxies(of, masters))
      for (const way of directions[direction]) proxy.delay(ms, way);
  }

  refuseWrites(masters: readonly Master[], why: WriteRefusal | undefined): Promise<void> {
    return each(masters, (master) => master.refuseWrites(why));
  }

  busy(): Promise<void> {
    return Promise.reject(new Error("no real master is made busy"));
  }

  async lose(masters: readonly Master[], key: string): Promise<void> {
    await each(masters, (master) => master.call("DEL", key));
  }

  /** All Redlocks of the case are in this process. */
  async step(clock: readonly Master[] | Redlock, ms: number): Promise<void> {
    if (!Array.isArray(clock)) this.#bench.time.stepWall(ms);
    else for (const master of clock as readonly RealMaster[]) master.step(ms);
  }

  drift(): Promise<void> {
    return Promise.reject(new Error("no real clock is made slow or fast"));
  }

  async lead(of: Redlock, address: Master, to: Master): Promise<void> {
    for (const proxy of this.#proxies(of, [address])) proxy.pointTo((to as RealMaster).server);
  }

  async select(of: Redlock, masters: readonly Master[], database: number): Promise<void> {
    const { clients } = this.#bench.ways.get(of)!;
    await Promise.all(
      masters.map((master) => clients[this.#bench.masters.indexOf(master as RealMaster)]!.select(database)),
    );
  }

  /** All Redlocks of the case are in this process: this one reaches no master any more. */
  async end(of: Redlock): Promise<void> {
    for (const proxy of this.#bench.ways.get(of)!.proxies.values()) {
      proxy.pointTo({ host, port: nobody });
      proxy.reset();
    }
  }

  moveSlot(): Promise<void> {
    return Promise.reject(
      new Error("no slot of a real Cluster is moved: test/integration/connections does it"),
    );
  }

  /** All Redlocks of the case are in this process. */
  async block(_: Redlock, ms: number): Promise<void> {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  }

  suspend(): Promise<void> {
    return Promise.reject(new Error("no real machine sleeps"));
  }

  #proxies(of: Redlock, masters: readonly Master[]): readonly FaultProxy[] {
    const { proxies } = this.#bench.ways.get(of)!;
    return masters.map((master) => proxies.get(master)!);
  }
}

async function each(
  masters: readonly Master[],
  act: (master: RealMaster) => Promise<unknown>,
): Promise<void> {
  await Promise.all((masters as readonly RealMaster[]).map(act));
}

class RealTime extends Time {
  readonly slack = slack;
  protected readonly pause = 1;
  /** The longest of the case. */
  nodeTimeout = 0;
  readonly #stalls = new Stalls();
  readonly #wall = Date.now;

  now(): number {
    return performance.now();
  }

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, ms);
    });
  }

  /** A time-out that is noticed late, by a tenth, gives masters their time once more (PROTOCOL 12.9). */
  lateness(ago: number): number {
    const stalls = this.#stalls.within(ago);
    const isOnceMore = stalls.some((stall) => stall + stallGrain > this.nodeTimeout / 10);
    return stalls.reduce((sum, stall) => sum + stall, isOnceMore ? this.nodeTimeout : 0);
  }

  stepWall(ms: number): void {
    const { now } = Date;
    Date.now = () => now() + ms;
  }

  end(): void {
    Date.now = this.#wall;
    this.#stalls[Symbol.dispose]();
  }
}
