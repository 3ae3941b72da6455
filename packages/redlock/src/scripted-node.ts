import { outside } from "./async-context.ts";
import type { MasterClock } from "./clock-watch.ts";
import type { Connection } from "./connection.ts";
import type { NodeError } from "./errors.ts";
import { failed, fault, unexpected, unsent } from "./fault.ts";
import { Inbox } from "./inbox.ts";
import type {
  Answer,
  Claim,
  Fault,
  Guard,
  GuardFindings,
  Holding,
  LockNode,
  LockQueue,
  ReleaseAnswer,
  Settle,
} from "./node.ts";
import { holdingIn, type Operation, type Time } from "./operation.ts";
import { type Outbox, type OutboxRuntime, outboxOf } from "./outbox.ts";
import { whyReserved } from "./resources.ts";
import { systemRuntime } from "./system.ts";

export interface ScriptedNodeOptions {
  /** Whether what is asked for while the master has not answered yet is sent together. Default true. */
  readonly groupCommit?: boolean;
  /**
   * Whether the master keeps queues for those who wait. Default true. A Cluster keeps none: while a slot moves, a key may
   * be on one master and its queue on the other, and MIGRATE fails where both have one.
   */
  readonly queue?: boolean;
  /** Told what is a fault of no round. Default: nobody. */
  readonly onFault?: (error: NodeError) => void;
  /** Default: the system's. */
  readonly runtime?: OutboxRuntime;
}

/** A master reached by plain commands and Lua scripts: what the wire carries, and what its replies mean. */
export class ScriptedNode implements LockNode {
  readonly name: string;
  readonly client: object;
  /** Counters are in other slots than the keys, and the floor is one for all: no script on a Cluster reaches them. */
  readonly keepsCounters: boolean;
  readonly queue: LockQueue | undefined;
  readonly #connection: Connection;
  readonly #groupCommit: boolean;
  readonly #outbox: Outbox;
  #guard: Guard | undefined;
  #clock: MasterClock | undefined;
  /** Whether a question for the time is unanswered: one at a time is enough. */
  #isReading = false;

  constructor(connection: Connection, options: ScriptedNodeOptions = {}) {
    this.#connection = connection;
    this.name = connection.name;
    this.client = connection.client;
    this.keepsCounters = connection.slotOf?.("", false) === undefined;
    this.#groupCommit = options.groupCommit ?? true;
    this.#outbox = outboxOf(connection, options.runtime ?? systemRuntime);
    if ((options.queue ?? true) && this.keepsCounters)
      this.queue = this.#makeQueue(options.onFault ?? (() => {}));
  }

  /** For scripts of others, beside its own. */
  get connection(): Connection {
    return this.#connection;
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.#connection.refuses?.(resources) ?? whyReserved(resources);
  }

  vote(claim: Claim, settle: Settle<Answer>): void {
    this.#claim("v", claim, [claim.token], settle);
  }

  extend(claim: Claim, repair: boolean, settle: Settle<Answer>): void {
    this.#claim(repair ? "p" : "e", claim, [claim.token], settle);
  }

  release(resources: readonly string[], tokens: readonly string[], settle: Settle<ReleaseAnswer>): void {
    this.#post(this.queue ? "l" : "r", resources, tokens, 0, undefined, settle);
  }

  inspect(resource: string, settle: Settle<Holding>): void {
    if (this.queue) this.#post("i", [resource], [], 0, undefined, settle);
    else void this.#look(resource).then(settle);
  }

  guardWith(guard: Guard): void {
    this.#guard = guard;
  }

  watchClock(clock: MasterClock): void {
    this.#clock = clock;
  }

  findings(guard: Guard | undefined, settle: Settle<GuardFindings>): void {
    this.#post("h", [], [], 0, undefined, settle, guard ?? this.#guard);
  }

  seed(epoch: string, floor: number, settle: Settle<ReleaseAnswer>): void {
    this.#post("f", [], [epoch, `${floor}`], 0, undefined, settle);
  }

  onReady(listener: () => void): () => void {
    return this.#connection.onReady(listener);
  }

  close(): Promise<void> {
    this.#outbox.finish();
    return this.#connection.close();
  }

  disconnect(): void {
    this.#connection.disconnect();
  }

  #makeQueue(onFault: (error: NodeError) => void): LockQueue {
    const inbox = new Inbox(this.#connection, (error) => {
      outside(() => onFault(failed(this.name, error, this.#connection.isReply(error), []).error));
    });
    return {
      enrol: (enrolment, settle) => {
        this.#claim("q", enrolment, [enrolment.token, inbox.address], settle);
      },
      swap: (claim, previous, settle) => this.#claim("s", claim, [claim.token, previous], settle),
      listen: (channel, hear, onListening) =>
        inbox.listen(channel, (push) => void (this.#clock?.isExcluded || hear(push)), onListening),
      get isListening() {
        return inbox.isListening;
      },
    };
  }

  #claim(kind: Kind, claim: Claim, words: readonly string[], settle: Settle<Answer>): void {
    const clock = this.#clock;
    const { resources, ttl } = claim;
    if (!clock) this.#post(kind, resources, words, ttl, claim, settle);
    else {
      // The time comes in the same reply, and is looked at first.
      this.#readTime(clock, ttl);
      this.#post<Answer>(kind, resources, words, ttl, claim, (answer) => {
        const isAstray = answer.vote === "yes" && clock.isExcluded;
        settle(isAstray ? fault(this.name, "CLOCK", "its clock has stepped, or is astray", true) : answer);
      });
    }
  }

  #readTime(clock: MasterClock, ttl: number): void {
    clock.askedFor(ttl);
    if (this.#isReading) return;
    this.#isReading = true;
    const sent = clock.now();
    this.#post<Time>("c", [], [], 0, undefined, (answer) => {
      this.#isReading = false;
      if ("time" in answer) clock.hear(sent, answer.time);
    });
  }

  /** Without a queue there is nothing that a script would have to look at as well. */
  async #look(resource: string): Promise<Holding | Fault> {
    const obstacle = this.#connection.isReady ? undefined : await this.#connected();
    if (obstacle !== undefined) return unsent(this.name, obstacle);
    // Behind all that was asked for before.
    this.#outbox.flush();
    try {
      const replies = [this.#connection.send("GET", [resource]), this.#connection.send("PTTL", [resource])];
      const [owner, left] = await Promise.all(replies);
      return holdingIn([owner, left, 0]) ?? unexpected(this.name, left);
    } catch (error) {
      return failed(this.name, error, this.#connection.isReply(error), []);
    }
  }

  #post<A>(
    kind: Kind,
    keys: readonly string[],
    words: readonly string[],
    ttl: number,
    claim: Claim | undefined,
    settle: Settle<A>,
    guard: Guard | undefined = this.#guard,
  ): void {
    const isAlone = !this.#groupCommit;
    // An operation is answered in its own kind.
    const ownSettle = settle as Operation["settle"];
    const operation = { kind, keys, words, ttl, claim, isAlone, guard, settle: ownSettle };
    if (this.#connection.isReady) this.#outbox.post(operation);
    else void this.#postWhenConnected(operation);
  }

  /** Sends when the first connection stands, or not at all. */
  async #postWhenConnected(operation: Operation): Promise<void> {
    const obstacle = await this.#connected();
    if (obstacle !== undefined) operation.settle(unsent(this.name, obstacle));
    else this.#outbox.post(operation);
  }

  /** What is in the way, once the first connection stands or has failed. */
  async #connected(): Promise<string | undefined> {
    await this.#connection.connectFirst();
    return this.#connection.isReady ? undefined : this.#connection.obstacle;
  }
}

type Kind = Operation["kind"];
