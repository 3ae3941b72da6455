import { ReplyError } from "../master/reply.ts";
import { type WriteRefusal, writeRefusals } from "../master/write-refusal.ts";
import { CommandReader } from "./command-reader.ts";
import { EmbeddedRedis, type Snapshot } from "./embedded-redis.ts";
import { encoded } from "./encoding.ts";
import { type Cut, MasterRoute, type Peer } from "./master-route.ts";
import { Session } from "./session.ts";

export interface EmbeddedMasterOptions {
  /**
   * The data that survives `kill` and `restart`. Default "none": nothing does. "aof-always": every write that was
   * acknowledged.
   */
  readonly persistence?: "none" | "aof-always";
  /** The password that `AUTH` and `HELLO` must give, as `requirepass` does. Default: none. */
  readonly password?: string;
}

/** A master in this process: the model of Redis behind a port of the loopback interface. */
export class EmbeddedMaster {
  readonly controllable = true;
  readonly #forgets: boolean;
  readonly #redis: EmbeddedRedis;
  /** The first is the route of `url`. */
  readonly #routes: MasterRoute[] = [];
  /** Whose connections are made at its addresses, unless they are its own. */
  #leadsTo: EmbeddedMaster | undefined;
  #isRunning = false;
  #connections = 0;
  #isOver = false;
  /** Settles when all requested starts and ends are done: they run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor({ persistence = "none", password }: EmbeddedMasterOptions) {
    this.#forgets = persistence === "none";
    this.#redis = new EmbeddedRedis(password);
  }

  static async start(options: EmbeddedMasterOptions = {}): Promise<EmbeddedMaster> {
    const master = new EmbeddedMaster(options);
    master.#isRunning = true;
    await master.route();
    return master;
  }

  get host(): string {
    return this.#routes[0]!.host;
  }

  /** The same after each restart. */
  get port(): number {
    return this.#routes[0]!.port;
  }

  /** `redis://127.0.0.1:PORT`, with the password if there is one. */
  get url(): string {
    return this.#routes[0]!.url;
  }

  /** Resets its connections; resolves when its port refuses new ones, at once when it is dead. */
  kill(): Promise<void> {
    return this.#inTurn(() => this.#close());
  }

  /** Starts it again on the same port, with what its persistence keeps. One that still runs is killed first. */
  restart(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#close();
      if (this.#isOver) throw new Error(`the master on port ${this.port} was stopped for good`);
      this.#redis.restart(this.#forgets);
      await Promise.all(this.#routes.map((route) => route.open()));
      this.#isRunning = true;
    });
  }

  /** Stops reading, so nothing is answered. Connections are still accepted. */
  hang(): Promise<void> {
    return this.#inTurn(async () => {
      this.#mustRun("hang");
      for (const route of this.#routes) route.hang(true);
    });
  }

  /** Ends a `hang`, and executes the commands that arrived meanwhile. */
  resume(): Promise<void> {
    return this.#inTurn(async () => {
      this.#mustRun("resume");
      for (const route of this.#routes) route.hang(false);
    });
  }

  /**
   * From now on it answers, but refuses writes with this error of Redis: "OOM" (its memory is full: it still executes
   * DEL and PEXPIRE), "MISCONF" (its disk is full), "NOREPLICAS" or "READONLY". Of a script it refuses the first write
   * or none, as Redis does. `undefined`: it accepts writes again. Default: it accepts writes.
   */
  refuseWrites(why: WriteRefusal | undefined): void {
    if (why !== undefined && !writeRefusals.includes(why))
      throw new RangeError(`a master refuses writes by ${writeRefusals.join(", ")}, not by ${why}`);
    this.#redis.writes.refusal = why;
  }

  /**
   * From now on it answers every command but AUTH, HELLO and QUIT with BUSY, as while a script runs for long; with `false` no longer.
   * Default: it is not busy. A restart ends it.
   */
  beBusy(isBusy: boolean): void {
    this.#redis.isBusy = isBusy;
  }

  /** Its data as a file or a replica has it now, for `reload` and `resync`. */
  snapshot(): Snapshot {
    return this.#redis.snapshot();
  }

  /** Replaces its data by that of a snapshot, as `DEBUG RELOAD` of an old file does: the process goes on, and keeps its connections. */
  reload(snapshot: Snapshot): void {
    this.#redis.load(snapshot, false);
  }

  /**
   * Replaces its data by that of a snapshot, as after it was made a replica of a replica that lags behind, and promoted back: the
   * process goes on, and has another replication id.
   */
  resync(snapshot: Snapshot): void {
    this.#redis.load(snapshot, true);
  }

  /**
   * From now on new connections to its addresses are made to `other`, as when a DNS name or a virtual IP moves; connections that exist
   * stay. `undefined`: they are made to this master again, the default. Which of them kill, hang and partition affect is decided by the
   * address.
   */
  move(other: EmbeddedMaster | undefined): void {
    this.#leadsTo = other;
  }

  /**
   * From now on its clock, by which keys expire, runs this much faster than the machine's, in parts per million; with a
   * negative number slower. It stays ahead or behind when the drift is set back to 0, the default.
   *
   * @throws RangeError for -1,000,000 or less: the clock would stand still.
   */
  drift(partsPerMillion: number): void {
    if (!(partsPerMillion > -1e6 && partsPerMillion < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`a drift must be a number above -1000000 (ppm), got ${partsPerMillion}`);
    }
    this.#redis.clock.runAt(1 + partsPerMillion / 1e6);
  }

  /** Its clock, by which keys expire, jumps by this many ms; with a negative number backwards. */
  step(ms: number): void {
    if (!Number.isFinite(ms)) throw new RangeError(`a step must be a number of ms, got ${ms}`);
    this.#redis.clock.step(ms);
  }

  /** Cuts the route of `url`; see {@link MasterRoute.partition}. */
  partition(cut?: Cut): void {
    this.#routes[0]!.partition(cut);
  }

  /** Ends a partition: delivers the messages that it held back, in order. */
  heal(): void {
    this.#routes[0]!.heal();
  }

  /** Another route to it, on its own port. A partition of one route does not affect the others. */
  async route(): Promise<MasterRoute> {
    const { password } = this.#redis;
    const credentials = password === undefined ? "" : `:${encodeURIComponent(password)}@`;
    const route: MasterRoute = new MasterRoute(credentials, (write) =>
      (this.#leadsTo ?? this).#accept(route.port, write),
    );
    await this.#inTurn(async () => {
      this.#mustRun("open a route to");
      await route.open();
      this.#routes.push(route);
    });
    return route;
  }

  /** Kills it finally: a later restart fails. Idempotent. */
  stop(): Promise<void> {
    this.#isOver = true;
    return this.kill();
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const acted = this.#last.then(act);
    this.#last = acted.catch(() => {});
    return acted;
  }

  #mustRun(what: string): void {
    if (!this.#isRunning)
      throw new Error(`cannot ${what} the master on port ${this.port}: it is not running`);
  }

  async #close(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#routes.map((route) => route.close()));
  }

  #accept(port: number, write: (text: string) => void): Peer {
    this.#connections += 1;
    const session = new Session(this.#redis, this.#connections, port, write);
    let replies = "";
    let isBroken = false;
    const reader = new CommandReader(
      (words) => {
        if (!isBroken && !session.isOver) replies += session.answer(words);
      },
      (why) => {
        replies += encoded(new ReplyError(`ERR ${why}`), 2);
        isBroken = true;
      },
    );
    return {
      heard(bytes) {
        replies = "";
        // The rest may come alone.
        if (!isBroken) reader.push(bytes);
        return { replies, isOver: isBroken || session.isOver };
      },
      gone: () => session.end(),
    };
  }
}
