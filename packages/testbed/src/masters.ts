/** How a set of masters was found: see `startMasters` for the order in which these are tried. */
export type MastersSource = "REDLOCK_NODES" | "local-binary" | "docker" | "installed" | "embedded";

/** One Redis (or Valkey) master that a test, an example or a benchmark talks to. */
export interface Master {
  readonly host: string;
  readonly port: number;
  /** `redis://127.0.0.1:PORT`, or what `REDLOCK_NODES` says, credentials included. */
  readonly url: string;
  /** False where the process is not ours (`REDLOCK_NODES`): the four methods below then reject and say so. */
  readonly controllable: boolean;
  /** SIGKILL (an embedded one resets its connections). Resolves when the process is gone and its port refuses connections; at once when it is dead. */
  kill(): Promise<void>;
  /**
   * Starts it again on the same port with the same data directory, and resolves when it answers PING.
   * One that still runs, or hangs, is killed first.
   */
  restart(): Promise<void>;
  /** SIGSTOP (an embedded one stops reading): the kernel still accepts connections, nothing answers. Resolves when it is stopped. */
  hang(): Promise<void>;
  /** SIGCONT after `hang`. Resolves when it answers PING again; what reached it while it hung is executed. */
  resume(): Promise<void>;
}

/** Independent masters, started or found together. `await using` ends what was started. */
export interface Masters extends AsyncDisposable {
  readonly source: MastersSource;
  readonly list: readonly Master[];
  /** The `url` of each of `list`, in its order. */
  readonly urls: readonly string[];
  /**
   * Ends everything that was started, killed and hung ones included, and removes temporary directories.
   * Idempotent. Masters from `REDLOCK_NODES` are left as they are, data included.
   */
  stop(): Promise<void>;
}

export interface MastersOptions {
  /**
   * The data that survives `kill` and `restart`. Default "none": nothing does. Both AOF modes keep every write that
   * was acknowledged: writes of the dead process are in the kernel, and only a crash of the whole machine would show a
   * difference. "rdb" keeps Redis's own snapshot intervals (60 s at least), so a test takes its snapshot with `SAVE`.
   */
  persistence?: "none" | "aof-always" | "aof-everysec" | "rdb";
  /** More redis-server arguments, after ours, e.g. `["--requirepass", "x"]`. Default none. */
  config?: readonly string[];
  /** Use this way only. Default: all of them but "embedded", in order. */
  source?: MastersSource;
  /**
   * "embedded": where no way leads to real masters, a model of Redis in this process takes their place. Default:
   * that is an error, since a test that wants real masters must not pass without them.
   */
  lastResort?: "embedded";
  /** Receives announcements: what was found, what is being installed, why a way was skipped. Default `console.error`. */
  say?: (line: string) => void;
}

/** None of the ways led to masters; the message names each way and why it did not work. */
export class NoMastersError extends Error {
  override readonly name = "NoMastersError";
}

/** The options of a provider of masters, with their defaults filled in. */
export interface WayOptions {
  readonly persistence: NonNullable<MastersOptions["persistence"]>;
  readonly config: readonly string[];
  readonly say: (line: string) => void;
}

/** A way that does not apply on this machine; the next one is tried. Anything that is broken throws instead. */
export interface Unavailable {
  readonly unavailable: string;
}

export type Way = (count: number, options: WayOptions) => Promise<Masters | Unavailable>;

/** `Masters` around a list and what ends it. */
export function mastersOf(source: MastersSource, list: readonly Master[], end: () => Promise<void>): Masters {
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= end();
    return stopped;
  };
  return { source, list, urls: list.map((master) => master.url), stop, [Symbol.asyncDispose]: stop };
}
