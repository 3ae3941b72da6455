import { DefaultMap } from "../default-map.ts";
import type { Kernel } from "../engine/kernel.ts";
import type { Process } from "../engine/process.ts";
import { Channels, type Subscriber } from "./channels.ts";
import { keysIn } from "./commands.ts";
import { type CrashKind, Durability, type Persistence } from "./durability.ts";
import type { Entry, Value } from "./entries.ts";
import { Keyspace, type Write } from "./keyspace.ts";
import { MovingSlot } from "./moving-slot.ts";
import { ownPrefix } from "./own-keys.ts";
import { RedisModel } from "./redis-model.ts";
import { busy, type Reply, ReplyError } from "./reply.ts";
import type { WriteRefusal } from "./write-refusal.ts";

/** Sees what becomes of the commands of clients. */
export interface MasterListener {
  /** `sender` has written, by a command or a script. */
  wrote(write: Write, sender: Process): void;
  /** Called in the middle of a command, with the number of subscribers. */
  published(message: string, listeners: number): void;
  /** A write came while the master refuses to write; it was let in where its script had written before. */
  writeMet(isRefused: boolean): void;
  /** A key of a slot that moves is on both masters: the migration would end with an error. */
  wasTwice(key: string): void;
  /** The command is over. */
  ran(command: string, args: readonly (string | number)[], reply: unknown, sender: Process): void;
}

/** Commands that an ACL rule may deny to its clients. */
export type Forbidden = "SUBSCRIBE" | "PUBLISH" | "PUBSUB";

/**
 * A subscriber of a master that is none of the clients:
 *
 * - `pattern`: to every channel, as a monitor does (`PSUBSCRIBE *`).
 * - `channels`: to each channel that a client has subscribed to, also after that client has left it.
 */
export type ForeignListener = "pattern" | "channels";

/** The changes of a wall clock. */
export interface Steps {
  /** The sum of its steps so far, ms. */
  readonly by: number;
  /** When it last was; true time, us. */
  readonly at: number;
}

export interface MasterOptions {
  /** When its periodic work happens within a second, us. */
  readonly phase?: number;
  /** No replica of it is further behind, us. */
  readonly longestLag?: number;
  readonly forbids?: readonly Forbidden[];
  readonly listeners?: readonly ForeignListener[];
}

/** The process at an address, and the disk of its machine. */
interface Server {
  readonly model: RedisModel;
  readonly durability: Durability;
  runId: string;
  /** How often it was a replica in between, in this process. */
  promotions: number;
}

/** It does nothing with what it hears. */
const foreigner: Subscriber = { push: () => {} };

/**
 * One Redis master: the model of what it answers, in a process with its own clocks, on a machine with a disk.
 * It may crash, come back with what its persistence kept, lose its memory, or be replaced by a replica.
 */
export class Master {
  readonly name: string;
  readonly process: Process;
  readonly #kernel: Kernel;
  #server: Server;
  /** The server at home, while the address leads to a replica of it. */
  #home: Server | undefined;
  /** The largest epoch of the restart guard that a server at this address has had. */
  #latestEpoch = 0;
  /** The listeners of its channels. */
  readonly channels: Channels = new Channels();
  readonly #newServer: () => Server;
  readonly #forbids: readonly Forbidden[];
  readonly #foreign: readonly ForeignListener[];
  /** Why it refuses to write, the latest reason last. */
  #refusals: readonly WriteRefusal[] = [];
  readonly #downListeners: Array<() => void> = [];
  #listener: MasterListener | undefined;
  /** The sender of the command that is being executed. */
  #sender: Process | undefined;
  #steps: Steps = { by: 0, at: Number.NEGATIVE_INFINITY };
  #longScripts = 0;
  #isUp = true;
  #incarnation = 1;
  #found: Map<string, Entry> = new Map();
  /** The other databases, until it restarts: no lock of the plan is in them. */
  readonly #others = new DefaultMap<number, Keyspace>(() => new Keyspace());
  #isElsewhere = false;
  /** Of a Cluster: set while the slot of the locks moves. */
  #moving: MovingSlot | undefined;
  #moves = 0;

  constructor(kernel: Kernel, process: Process, persistence: Persistence, options: MasterOptions = {}) {
    const { phase = 0, longestLag = 0, forbids = [], listeners: foreign = [] } = options;
    this.#kernel = kernel;
    this.name = process.name;
    this.process = process;
    this.#forbids = forbids;
    this.#foreign = foreign;
    const publish = (channel: string, message: string): number => {
      if (forbids.includes("PUBLISH")) throw forbidden("publish");
      const listeners = this.channels.publish(channel, message);
      if (!this.#isElsewhere) this.#listener?.published(message, listeners);
      return listeners;
    };
    const listeners = (channel: string): number => {
      if (forbids.includes("PUBSUB")) throw forbidden("pubsub|numsub");
      return this.channels.count(channel);
    };
    this.#newServer = () => {
      const runId = `${this.name}-${this.#incarnation}`.padEnd(40, "0");
      const model = new RedisModel(new Keyspace(), `${runId}-0`, publish, listeners);
      model.writes.onWrite = (isRefused) => {
        if (this.#sender) this.#listener?.writeMet(isRefused);
      };
      return { model, durability: new Durability(persistence, phase, longestLag), runId, promotions: 0 };
    };
    this.#server = this.#newServer();
    this.#model.replaceKeyspace(this.#keyspaceOf([]));
    this.#letForeignersListen();
  }

  get #model(): RedisModel {
    return this.#server.model;
  }

  get #durability(): Durability {
    return this.#server.durability;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Changes with each start. A connection belongs to one. */
  get incarnation(): number {
    return this.#incarnation;
  }

  /** A process that subscribes in a turn of the master listens from then on, unless that is forbidden. */
  subscribe(channel: string, subscriber: Subscriber): ReplyError | undefined {
    if (this.isBusy) return busy();
    if (this.#forbids.includes("SUBSCRIBE")) return forbidden("subscribe");
    this.channels.subscribe(channel, subscriber);
    if (this.#foreign.includes("channels")) this.channels.subscribe(channel, foreigner);
    return undefined;
  }

  #letForeignersListen(): void {
    if (this.#foreign.includes("pattern")) this.channels.subscribe("*", foreigner, "pattern");
  }

  /** It answers from now on, and refuses to write, until what is returned is called. */
  refuseWrites(why: WriteRefusal): () => void {
    // (Of two reasons at a time one is reported; when one ends, the other still holds.)
    this.#setRefusals([...this.#refusals, why]);
    return () => {
      this.#setRefusals(this.#refusals.toSpliced(this.#refusals.lastIndexOf(why), 1));
      // It was a replica, whose link never came up.
      if (why === "READONLY" && this.#isUp) this.#promote(this.#model.keyspace);
    };
  }

  /** A script runs for long: it answers every command with BUSY from now on, until what is returned is called. */
  beBusy(): () => void {
    this.#longScripts += 1;
    this.process.record("is busy");
    return () => {
      this.#longScripts -= 1;
    };
  }

  get isBusy(): boolean {
    return this.#longScripts > 0;
  }

  #setRefusals(refusals: readonly WriteRefusal[]): void {
    this.#refusals = refusals;
    const refusal = refusals.at(-1);
    for (const { model } of this.#home ? [this.#server, this.#home] : [this.#server])
      model.writes.refusal = refusal;
    this.process.record(refusal === undefined ? "writes again" : "refuses to write", refusal ?? "");
  }

  /** For those who keep connections to it: it has gone down, and all of them with it. */
  onDown(listener: () => void): void {
    this.#downListeners.push(listener);
  }

  /** For a checker. */
  watch(listener: MasterListener): void {
    this.#listener = listener;
  }

  /** In a turn of its process. An error reply is returned, not thrown. */
  execute(command: string, args: readonly (string | number)[], sender?: Process): Reply | ReplyError {
    const reply = this.#execute(command, args, sender);
    if (sender) this.#listener?.ran(command, args, reply, sender);
    return reply;
  }

  /** The same in another database, which no checker looks at. */
  executeIn(database: number, command: string, args: readonly (string | number)[]): Reply | ReplyError {
    const own = this.#model.keyspace;
    const other = this.#others.get(database);
    this.#model.replaceKeyspace(other);
    this.#isElsewhere = true;
    const reply = this.#execute(command, args);
    this.#isElsewhere = false;
    this.#model.replaceKeyspace(own);
    return reply;
  }

  #execute(command: string, args: readonly (string | number)[], sender?: Process): Reply | ReplyError {
    if (this.isBusy) return busy();
    this.#sender = sender;
    try {
      if (this.#moving) return this.#executeIn(this.#moving, command, args);
      const reply = this.#model.execute(command, args, this.process.wallNow());
      if (command === "FLUSHALL") this.#durability.restartWith(new Map(), this.#kernel.now);
      return reply;
    } catch (error) {
      if (error instanceof ReplyError) return error;
      throw error;
    } finally {
      this.#sender = undefined;
    }
  }

  #executeIn(moving: MovingSlot, command: string, args: readonly (string | number)[]): Reply {
    const model = this.#model;
    const now = this.process.wallNow();
    const place = moving.placeOf(keysIn(command, args), now);
    model.isMovingAway = place === moving.source;
    model.replaceKeyspace(place);
    try {
      return model.execute(command, args, now);
    } finally {
      model.isMovingAway = false;
      model.replaceKeyspace(moving.source);
    }
  }

  /**
   * It is a Cluster, and the slot of all locks moves to another of its masters: a key each `pause` us, and all that are left
   * after `duration` us. (While it moves, another move is none.)
   */
  moveSlot(pause: number, duration: number): void {
    if (this.#moving) return;
    this.#moves += 1;
    const salt = 7 + this.#moves;
    const order = (key: string): number =>
      Buffer.from(key).reduce((sum, byte) => (sum * salt + byte) % 997, 0);
    const moving = new MovingSlot(this.#model.keyspace, this.#keyspaceOf([]), order);
    this.#moving = moving;
    this.process.record("begins to move its slot");
    const end = this.#kernel.now + duration;
    const moveOne = (): boolean => {
      const moved = moving.moveOne(this.process.wallNow());
      if (moved?.isThere) this.#listener?.wasTwice(moved.key);
      return moved !== undefined;
    };
    const step = (): void => {
      const left = end - this.#kernel.now;
      if (left > 0) {
        moveOne();
        this.#kernel.engine.schedule(step, Math.min(pause, left));
        return;
      }
      while (moveOne());
      this.#moving = undefined;
      this.#model.replaceKeyspace(moving.target);
      this.process.record("has moved its slot");
    };
    this.#kernel.engine.schedule(step, pause);
  }

  /** The present entry of a key, without a trace: for checkers. */
  peek(key: string): Entry | undefined {
    if (!this.#isUp) return undefined;
    const now = this.process.wallNow();
    return this.#model.keyspace.get(key, now) ?? this.#moving?.target.get(key, now);
  }

  /** Until when the restart guard keeps it from voting, by its wall clock; the quarantine may have to begin yet. */
  votesFrom({ maxTtl, durable = false }: { readonly maxTtl: number; readonly durable?: boolean }): number {
    const { keyspace } = this.#model;
    const mark = keyspace.get("quorlock:guard", this.process.wallNow())?.value;
    const isRaw = keyspace.get("quorlock:guard:memory", this.process.wallNow())?.isRaw === true;
    const isOfThisMemory =
      typeof mark === "string" &&
      (mark.startsWith(`${this.#replId} `) ? isRaw : durable && !this.#model.wasReplica);
    if (!isOfThisMemory || this.#epoch < this.#latestEpoch) return this.process.wallNow() + maxTtl;
    const byItsKey = this.peek("quorlock:quarantine")?.expiresAt ?? 0;
    // The clients' clocks show what its own would if it had not been set.
    return this.steps.at < 0 ? byItsKey : Math.max(byItsKey, Number(mark.split(" ")[2]) + this.steps.by);
  }

  /** Of the marker of the restart guard; 0 without one. */
  get #epoch(): number {
    const mark = this.#model.keyspace.get("quorlock:guard", this.process.wallNow())?.value;
    return typeof mark === "string" ? Number(mark.split(" ")[1]) : 0;
  }

  /** How long the keys that begin so have left, ms: infinite for one that does not expire. */
  lifetimes(prefix: string): readonly number[] {
    if (!this.#isUp) return [];
    const now = this.process.wallNow();
    this.#model.keyspace.sweep(now);
    return this.#model.keyspace
      .entries()
      .filter(([key]) => key.startsWith(prefix))
      .map(([, { expiresAt = Number.POSITIVE_INFINITY }]) => expiresAt - now);
  }

  crash(kind: CrashKind): void {
    if (!this.#isUp) return;
    this.#found = this.#durability.afterCrash(kind, this.#kernel.now);
    this.#goDown();
  }

  restart(): void {
    if (this.#isUp) return;
    this.#start(this.#found);
  }

  /** FLUSHALL: deletes every key. The master goes on running. */
  flushAll(): void {
    this.execute("FLUSHALL", []);
  }

  /** Deletes the keys of all locks, and none of the client's own. */
  removeLocks(): void {
    const keys = this.#model.keyspace.entries().map(([key]) => key);
    const locks = keys.filter((key) => !key.startsWith(ownPrefix));
    if (locks.length > 0) this.execute("DEL", locks);
  }

  /** Deletes one key, as a master does whose memory is full: number `nth` of those it has, counted around. */
  evict(nth: number): void {
    if (!this.#isUp) return;
    this.#model.keyspace.sweep(this.process.wallNow());
    const keys = this.#model.keyspace
      .entries()
      .map(([key]) => key)
      .sort();
    if (keys.length > 0) this.execute("DEL", [keys[nth % keys.length]!]);
  }

  /** A replica that had not received the last `lag` us of writes takes its place at once. */
  promoteReplica(lag: number): void {
    const known = this.#durability.stateAt(this.#kernel.now - lag);
    if (this.#isUp) this.#goDown();
    this.#start(known, this.#replId);
  }

  /**
   * Clients are led to a replica that had not received the last `lag` us of writes, until what is returned is called. Then
   * the old master is there again, with the memory that it had. `isDemoted`: it has been a replica meanwhile.
   */
  failOver(lag: number, isDemoted = false): () => void {
    // (One that is away already stays there, and one that is down has nobody to take its place.)
    if (this.#home || !this.#isUp) return () => {};
    const known = this.#durability.stateAt(this.#kernel.now - lag);
    const formerId = this.#replId;
    const home = this.#server;
    this.#goDown();
    this.#home = home;
    this.#incarnation += 1;
    this.#server = this.#newServer();
    this.#model.writes.refusal = home.model.writes.refusal;
    this.#start(known, formerId);
    return () => {
      this.#home = undefined;
      if (this.#isUp) this.#goDown();
      this.#latestEpoch = Math.max(this.#latestEpoch, this.#epoch);
      this.#server = home;
      if (isDemoted) this.#promote(home.model.keyspace);
      this.#incarnation += 1;
      this.#isUp = true;
      this.#letForeignersListen();
      this.process.record("is back");
    };
  }

  /** It becomes a replica of its replica, which had not received the last `lag` us of writes, and is promoted back. */
  resyncFromReplica(lag: number): void {
    if (this.#isUp) this.#promote(this.#replaceMemory(lag));
  }

  /** DEBUG RELOAD of a snapshot that lacks the last `lag` us of writes. The process goes on running. */
  reload(lag: number): void {
    if (this.#isUp) this.#model.replaceKeyspace(this.#replaceMemory(lag));
  }

  #promote(keyspace: Keyspace): void {
    const formerId = this.#replId;
    this.#server.promotions += 1;
    this.#model.promote(keyspace, this.#replId, formerId);
  }

  /** Other data in the same process, to which connections stay. */
  #replaceMemory(lag: number): Keyspace {
    const state = this.#durability.stateAt(this.#kernel.now - lag);
    this.#durability.restartWith(state, this.#kernel.now);
    this.process.record("is thrown back");
    for (const [key, entry] of state) this.#recordEntry(key, entry);
    return this.#keyspaceOf(state);
  }

  /** The total of the steps of its wall clock: for checkers. One that stands still is set back all the time. */
  get steps(): Steps {
    const { now } = this.#kernel;
    const lost = this.process.clocks.lostAt(now);
    return lost === 0 ? this.#steps : { by: this.#steps.by - lost, at: now };
  }

  /** Its wall clock stands still, until what is returned is called. */
  stopWall(): () => void {
    this.process.setWall(false);
    return () => {
      this.#steps = { by: this.#steps.by, at: this.#kernel.now };
      this.process.setWall(true);
    };
  }

  /** A step back lengthens what lives; what has expired by then is gone. */
  stepWall(by: number): void {
    this.#model.keyspace.sweep(this.process.wallNow());
    this.process.stepWall(by);
    this.#steps = { by: this.#steps.by + by, at: this.#kernel.now };
  }

  #goDown(): void {
    this.#isUp = false;
    this.channels.clear();
    this.process.record("goes down");
    for (const listener of this.#downListeners) listener();
  }

  /** `formerId`: the replication id of the master whose replica it was. */
  #start(state: ReadonlyMap<string, Entry>, formerId?: string): void {
    this.#durability.restartWith(state, this.#kernel.now);
    this.#incarnation += 1;
    this.#server.runId = `${this.name}-${this.#incarnation}`.padEnd(40, "0");
    this.#isUp = true;
    this.#others.clear();
    this.#model.restart(this.#keyspaceOf(state), this.#replId, formerId);
    this.#letForeignersListen();
    this.process.record("comes up");
    for (const [key, entry] of state) this.#recordEntry(key, entry);
  }

  /** Locks are kept and dropped; what a master keeps besides them is noted and forgotten. */
  #recordEntry(key: string, entry: Entry | undefined, sender = ""): void {
    if (!this.#kernel.trace.isOn) return;
    const isOwn = key.startsWith(ownPrefix);
    if (!entry) this.process.record(isOwn ? "forgets" : "drops", key, sender);
    else {
      const verb = isOwn ? "notes" : "keeps";
      this.process.record(verb, key, textOf(entry.value), entry.expiresAt ?? -1, sender);
    }
  }

  #keyspaceOf(entries: Iterable<readonly [string, Entry]>): Keyspace {
    return new Keyspace(entries, (write) => {
      this.#durability.record(write, this.#kernel.now);
      this.#recordEntry(write.key, write.entry, this.#sender?.name);
      if (this.#sender) this.#listener?.wrote(write, this.#sender);
    });
  }

  get #replId(): string {
    return `${this.runId}-${this.#server.promotions}`;
  }

  /** Of the process that runs at present. */
  get runId(): string {
    return this.#server.runId;
  }
}

function forbidden(command: string): ReplyError {
  return new ReplyError(`NOPERM this user has no permissions to run the '${command}' command`);
}

function textOf(value: Value): string {
  if (typeof value === "string") return value;
  if ("list" in value) return "";
  return value.sorted.map(({ name, score }) => `${name} ${score}`).join(",");
}
