import type { LockNode, Redlock, RedlockOptions } from "@quorlock/redlock";
import type { ClientCopy } from "@quorlock/simulation/mutants";

// The behaviour suite: one case for each promise of docs/protocol.md that a user can observe, named by its number. A case
// is written once, against a `Bench` and the public API, and runs in two ways:
//
// - In `pnpm test`, in virtual time (`virtual.ts`): the masters, the network and the clocks of the simulator, in one
//   process. Time passes only while nothing else can run, from event to event, so a case awaits as it would await real
//   masters, takes some milliseconds, and its times are exact (`time.slack` is 0). Each Redlock is a process of its own,
//   with its own clocks and its own connections.
// - In `pnpm test:deep`, on real masters (`real.ts`), by each client library and without scripts. Time is real, faults are
//   signals, proxies and commands of Redis. A case that cannot run there says why (`notOn`).
//
// The client is a `ClientCopy`: what it exports. In virtual time it may be a mutated copy (`QUORLOCK_MUTANT=name`), which
// shows by which cases a broken rule is noticed.
//
// Cases assert by node:assert, so a program that is no test runner can play them as well (`play` in `virtual.ts`).

/** One master, as an operator sees it. One that hangs or is down cannot be looked at. */
export interface Master {
  readonly name: string;
  /** Executes a command, around all Redlocks; rejects with an error reply. */
  call(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  /** The names of all that it keeps. */
  keys(): Promise<readonly string[]>;
  /** From now on records the commands that clients send to it. */
  tap(): Promise<Tap>;
}

/** The commands that a master has executed, in order, without those that set up connections. */
export interface Tap {
  commands(): Promise<ReadonlyArray<readonly string[]>>;
}

export type WriteRefusal = "OOM" | "MISCONF" | "NOREPLICAS" | "READONLY";
/** "pushes": what masters tell on their own, such as grants. They are among the replies as well. */
export type Direction = "requests" | "replies" | "pushes" | "both";

/** The faults of masters, of connections and of the machines of clients: the same words everywhere. */
export interface Faults {
  /** Nothing is executed. Commands that arrive meanwhile are executed by `resume`. */
  hang(masters: readonly Master[]): Promise<void>;
  resume(masters: readonly Master[]): Promise<void>;
  /** The process and its connections are gone. */
  kill(masters: readonly Master[]): Promise<void>;
  /** Starts again, empty, or with what it had (`isKept`); one that runs is killed first. */
  restart(masters: readonly Master[], isKept?: boolean): Promise<void>;
  /** From now on nothing that is written reaches the replicas and the files of masters. */
  lag(masters: readonly Master[]): Promise<void>;
  /** Replicas take the places of masters, which become replicas if they are demoted. */
  failOver(masters: readonly Master[], areDemoted?: boolean): Promise<void>;
  /** The old masters are back in their places, with what they had. */
  failBack(masters: readonly Master[]): Promise<void>;
  /** A master becomes a replica of its replica, and is promoted again. */
  resync(masters: readonly Master[]): Promise<void>;
  /** A master that runs loads its file. */
  reload(masters: readonly Master[]): Promise<void>;
  /** Between a Redlock and masters: nothing passes, and nothing is lost. `heal` delivers it. */
  cut(of: Redlock, masters: readonly Master[], direction?: Direction): Promise<void>;
  heal(of: Redlock, masters: readonly Master[]): Promise<void>;
  /**
   * The present connections of a Redlock end, and what was not answered never will be. With `late` requests that are on
   * their way arrive so much later, ms, behind those of the next connection.
   */
  reset(of: Redlock, masters: readonly Master[], late?: number): Promise<void>;
  /** The present connections of a Redlock to masters carry nothing any more; new ones work. */
  silence(of: Redlock, masters: readonly Master[]): Promise<void>;
  /** Everything takes this much longer, ms, in each direction named. 0 ends it. */
  slow(of: Redlock, masters: readonly Master[], ms: number, direction?: Direction): Promise<void>;
  /** `undefined`: writes are accepted again. */
  refuseWrites(masters: readonly Master[], why: WriteRefusal | undefined): Promise<void>;
  /** A script runs for long: every command is answered with BUSY. */
  busy(masters: readonly Master[], isBusy: boolean): Promise<void>;
  lose(masters: readonly Master[], key: string): Promise<void>;
  /** Steps a wall clock by this much, ms: that of masters, or of a Redlock's machine. */
  step(clock: readonly Master[] | Redlock, ms: number): Promise<void>;
  /** From now on the clocks of masters gain this much, ms in each second. */
  drift(masters: readonly Master[], ms: number): Promise<void>;
  /** New connections of a Redlock to the address of one master are made to another; present ones stay. */
  lead(of: Redlock, address: Master, to: Master): Promise<void>;
  /** The user of a Redlock's clients switches them to another database. */
  select(of: Redlock, masters: readonly Master[], database: number): Promise<void>;
  /** The process of a Redlock ends without a word, and so do its connections. */
  end(of: Redlock): Promise<void>;
  /** The slot of all keys begins to move to another master of the Cluster: a key each `pause` ms, and all that are left after `ms`. */
  moveSlot(cluster: Master, pause: number, ms: number): Promise<void>;
  /** The event loop of a Redlock's process is blocked for so long, ms; resolves right after it. */
  block(of: Redlock, ms: number): Promise<void>;
  /** The machine of a Redlock sleeps for so long, ms: its monotonic clock stands still. Resolves right after it. */
  suspend(of: Redlock, ms: number): Promise<void>;
}

/** How a call ended, and after how long, ms. */
export interface Outcome<T> {
  readonly took: number;
  readonly value?: T;
  // biome-ignore lint/suspicious/noExplicitAny: a case looks at whatever it has.
  readonly error?: any;
}

export abstract class Time {
  /** By how much a time may differ from what it should be, on a machine that does other work, ms. */
  abstract readonly slack: number;
  /** How much later than that something may end that began so long ago, ms, since the process of the case stood still. */
  abstract lateness(ago: number): number;
  /** The pause between two questions of `until`, ms. */
  protected abstract readonly pause: number;

  /** ms. */
  abstract now(): number;
  abstract pass(ms: number): Promise<void>;

  /** Never rejects; the call may be awaited later. */
  took<T>(call: Promise<T>): Promise<Outcome<T>> {
    const begun = this.now();
    return call.then(
      (value) => ({ took: this.now() - begun, value }),
      (error: unknown) => ({ took: this.now() - begun, error }),
    );
  }

  /** Asks again until it is true; rejects with `what` after 5 s. */
  async until(what: string, ask: () => Promise<boolean> | boolean): Promise<void> {
    const end = this.now() + 5000;
    while (!(await ask())) {
      if (this.now() > end) throw new Error(`not within 5 s: ${what}`);
      await this.pass(this.pause);
    }
  }
}

export interface OpenOptions extends RedlockOptions {
  /** Its list of masters. Default: all. */
  readonly on?: readonly Master[];
  /** The masters to which some addresses lead instead of their own. */
  readonly leads?: ReadonlyMap<Master, Master>;
  /** It is not connected yet. */
  readonly isCold?: boolean;
  /** Puts something between it and its masters. */
  readonly through?: (nodes: readonly LockNode[]) => readonly LockNode[];
}

/** A setting of one case. */
export interface Bench {
  /** The copy of the client under test. */
  readonly client: ClientCopy["module"];
  readonly masters: readonly Master[];
  readonly faults: Faults;
  readonly time: Time;
  /**
   * A Redlock in a process of its own, connected to its masters. Unless the options say otherwise it makes one attempt for each call, gives masters
   * 200 ms to answer, and writes no record of its owner.
   */
  redlock(options?: OpenOptions): Promise<Redlock>;
  /** By which a Redlock reaches a master. */
  addressOf(redlock: Redlock, master: Master): string;
}

/** Of every Redlock, unless a case says otherwise. */
export const defaults: RedlockOptions = { retryCount: 0, nodeTimeout: 200, owner: false };

/** In place of the code of an error, from a library under test whose errors have none. */
export const anyCode = "any code";

/** Where a case may not run. */
export type Place = "virtual" | "real" | "node-redis" | "without scripts" | "one Redis" | "a Cluster";

/** The equipment that only some masters have: clocks that can be set; replicas, and files of the past. */
export type Extra = "clocks" | "replicas";

export interface Behaviour {
  /** The rule of docs/protocol.md, or the section of a README that promises it. */
  readonly rule: string;
  readonly title: string;
  readonly masters: number;
  readonly isCluster: boolean;
  readonly notOn: Readonly<Partial<Record<Place, string>>>;
  readonly takes: Extra | undefined;
  play(bench: Bench): Promise<void>;
}

export interface Terms {
  /** How many masters it takes. Default 5; a case with 1 also runs on one Redis and on a Cluster. */
  readonly masters?: number;
  /** Its only master is a Cluster. Default: only where a setup has no other. */
  readonly isCluster?: boolean;
  readonly notOn?: Behaviour["notOn"];
  /** It runs on real masters that have this. */
  readonly takes?: Extra;
}

/** A case: the rule, a sentence that a user understands, and what shows it. */
export function behaviour(
  rule: string,
  title: string,
  play: Behaviour["play"],
  { isCluster = false, masters = isCluster ? 1 : 5, notOn = {}, takes }: Terms = {},
): Behaviour {
  return { rule, title, masters, isCluster, notOn, takes, play };
}
