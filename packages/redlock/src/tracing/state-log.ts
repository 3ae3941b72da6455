import { type ClockEvent, escaped, type LockLostError, type NodeError } from "../errors.ts";
import type { Runtime } from "../time/runtime.ts";

/** Any object with these methods, such as a logger of pino. */
export type Logger = Readonly<Record<"info" | "warn" | "error", (fields: object, message: string) => void>>;

/** A master, as a round asks it. */
interface Master {
  readonly name: string;
  readonly client: object;
}

/** An answer to one request of a round, as far as it tells the state of its master. */
interface Answered {
  readonly is: string;
  readonly error?: NodeError;
}

/** Why a master that fails fails, since when it has not failed any more, and for which request. */
interface Failing {
  reason: string;
  operation: string;
  latest: number;
}

/** A master that fails now and then would fill the log: it answers again once no request has failed for this time, ms. */
const quietTime = 1000;
/** With one of these a master answers nothing; with any other, another request may succeed. */
const unanswering: ReadonlySet<string> = new Set(["TIMEOUT", "UNREACHABLE", "LOADING"]);
/** The requests to which a master in quarantine does not say yes. */
const votes: ReadonlySet<string> = new Set(["vote", "voteUnless", "enqueue"]);
/** No state of the master, or one that is reported once, by itself. */
const ignored: ReadonlySet<string> = new Set(["ABANDONED", "CONTENDED", "CLOCK", "SAME_SERVER"]);
/** The errors of no request, each once for each change. */
const reported: Readonly<Record<string, string>> = {
  SAME_SERVER: "same_server",
  MEMBERSHIP: "membership",
  UNCERTAIN_FLOOR: "uncertain_floor",
};

/**
 * Writes one line for each change of a master's state, and one for each lock that is lost against its holder's will: never
 * one for each request that fails.
 */
export class StateLog {
  readonly #logger: Logger;
  readonly #runtime: Pick<Runtime, "monotonic">;
  /** An error of the logger interrupts no round. */
  readonly #safely: (write: () => void) => void;
  /** By their clients: groups of a Sentinel may all have the same name. */
  readonly #failing = new WeakMap<object, Failing>();

  constructor(logger: Logger, runtime: Pick<Runtime, "monotonic">, safely: (write: () => void) => void) {
    this.#logger = logger;
    this.#runtime = runtime;
    this.#safely = safely;
  }

  /** A master has answered a request in time, or has failed. */
  onAnswer(master: Master, operation: string, { is, error }: Answered): void {
    const failing = this.#failing.get(master.client);
    if (error) {
      if (!ignored.has(error.reason)) this.#failed(master, operation, error, failing);
      return;
    }
    if (!failing) return;
    const { reason } = failing;
    // A master in quarantine refuses, releases and extends as ever.
    const isVote = is === "yes" && votes.has(operation);
    const isSame = reason === "QUARANTINE" ? isVote : operation === failing.operation;
    if (!isSame && !unanswering.has(reason)) return;
    if (this.#runtime.monotonic() - failing.latest < quietTime) return;
    const { name: node, client } = master;
    this.#failing.delete(client);
    this.#write("info", { event: "master_answers", node, reason }, `master ${node} answers again`);
  }

  #failed(
    { name: node, client }: Master,
    operation: string,
    { reason }: NodeError,
    failing: Failing | undefined,
  ): void {
    const isQuarantine = reason === "QUARANTINE";
    const latest = this.#runtime.monotonic();
    // It may have refused a request that nobody has made since: then nothing has shown that it takes that one.
    const isOut =
      failing &&
      unanswering.has(reason) &&
      !unanswering.has(failing.reason) &&
      latest - failing.latest >= quietTime;
    const isChange = !failing || isOut || isQuarantine !== (failing.reason === "QUARANTINE");
    this.#failing.set(client, { reason, operation, latest });
    if (!isChange) return;
    if (isQuarantine)
      this.#write("warn", { event: "master_quarantined", node, reason }, `master ${node} is in quarantine`);
    else this.#write("warn", { event: "master_failed", node, reason }, `master ${node} fails: ${reason}`);
  }

  /** An error that has an event. */
  reported({ node, reason }: NodeError): void {
    const event = reported[reason];
    if (event !== undefined) this.#write("warn", { event, node, reason }, `master ${node}: ${reason}`);
  }

  onClock({ kind, node, offset, uncertainty }: ClockEvent): void {
    const fields = { event: `clock_${kind}`, node, offset, uncertainty };
    const message = `the clock of master ${node} ${kind === "stepped" ? "has" : "is"} ${kind}`;
    this.#write(kind === "synced" ? "info" : "warn", fields, message);
  }

  onLoss({ resources, reason, isFault }: LockLostError): void {
    if (!isFault) return;
    const names = resources.map(escaped);
    this.#write("error", { event: "lock_lost", resources: names, reason }, `lost: ${names.join(", ")}`);
  }

  #write(level: keyof Logger, fields: object, message: string): void {
    this.#safely(() => this.#logger[level](fields, message));
  }
}
