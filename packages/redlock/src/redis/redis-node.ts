import type { NodeError } from "../errors.ts";
import { failed, fault, unexpected, unsent } from "../protocol/faults.ts";
import type {
  Answer,
  Claim,
  Fault,
  Guard,
  GuardedMaster,
  KeyState,
  LockNode,
  LockQueue,
  MasterClock,
  MasterServer,
  OnAnswer,
  OnPush,
  OnVote,
  Operation,
  OperationKind,
  Purpose,
  Push,
  Reading,
  ReleaseAnswer,
  Time,
  Timed,
} from "../protocol/node.ts";
import { operationOf } from "../protocol/operation.ts";
import { masked } from "../protocol/token.ts";
import { WeakListeners } from "../protocol/weak-listeners.ts";
import { whyReserved } from "../settings/resources.ts";
import { outside } from "../time/async-context.ts";
import { systemRuntime } from "../time/system.ts";
import { isAbandoned, isRelease, keyStateIn } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { GrantSubscription } from "./grant-subscription.ts";
import { type ScriptCall, ScriptCalls } from "./script-calls.ts";
import { type SendQueue, type SendQueueRuntime, sendQueueOf } from "./send-queue.ts";
import { UnexpectedReply } from "./transaction.ts";

export interface RedisNodeOptions {
  /** Whether operations are sent together while earlier ones are unanswered. Default true. */
  readonly groupCommit?: boolean;
  /**
   * Whether the master keeps queues of waiting claims. Default true. Always off on a Cluster: while a slot
   * moves, a key and its queue may be on different masters, and MIGRATE fails if both masters have one of
   * them.
   */
  readonly queue?: boolean;
  /** Called with faults that belong to no round. Default: ignored. */
  readonly onFault?: (error: NodeError) => void;
  /** Default: the system clock and timers. */
  readonly runtime?: SendQueueRuntime;
  /**
   * The maximum number of operations in flight, and the same again of those that keep a lease. Default 512.
   */
  readonly window?: number;
}

/**
 * A master reached by plain commands and Lua scripts: turns calls into operations, and replies into answers.
 */
export class RedisNode implements LockNode {
  readonly name: string;
  readonly client: object;
  /**
   * False on a Cluster: the counters are in other slots than the keys, and all share one floor, so no script
   * reaches them.
   */
  readonly keepsCounters: boolean;
  readonly queue: LockQueue | undefined;
  readonly #connection: Connection;
  readonly #options: RedisNodeOptions;
  readonly #runtime: SendQueueRuntime;
  readonly #groupCommit: boolean;
  readonly #sendQueue: SendQueue;
  #calls: ScriptCalls | undefined;
  /** Set while the server votes through another node. */
  #refusal: Fault | undefined;
  #moves: Moves | undefined;
  /** Registered by weak reference: this field keeps it alive as long as the node. */
  #onDatabaseLeft: ((why: string, old: Connection) => void) | undefined;
  #guard: Guard | undefined;
  #clock: MasterClock | undefined;
  /** Whether a time read is unanswered. */
  #isReading = false;

  constructor(connection: Connection, options: RedisNodeOptions = {}) {
    this.#connection = connection;
    this.#options = options;
    this.name = connection.name;
    this.client = connection.client;
    this.keepsCounters = connection.slotOf?.("", false) === undefined;
    this.#groupCommit = options.groupCommit ?? true;
    this.#runtime = options.runtime ?? systemRuntime;
    this.#sendQueue = sendQueueOf(connection, this.#runtime, options.window);
    if ((options.queue ?? true) && this.keepsCounters)
      this.queue = this.#makeQueue(options.onFault ?? (() => {}));
  }

  /** The same master, with these options instead of those that it was not given. */
  withDefaults(defaults: RedisNodeOptions): RedisNode {
    return new RedisNode(this.#connection, { ...defaults, ...this.#options });
  }

  get drainedAt(): number {
    return Math.max(this.#sendQueue.drainedAt, this.#calls?.drainedAt ?? Number.NEGATIVE_INFINITY);
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.#connection.refuses?.(resources) ?? whyReserved(resources);
  }

  ask(operation: Operation): void {
    if (this.#groupCommit && this.queue && !this.#guard && !this.#clock) {
      this.#postOperation(operation);
      return;
    }
    // A master with its own way of answering needs an operation of its own.
    const { kind, keys, values, claim } = operation;
    const onAnswer = (answer: Answer | ReleaseAnswer | Timed<Answer>): void =>
      operation.onAnswer(this.client, answer);
    if (kind === "release") this.release(keys, values, onAnswer);
    else this.#claim(kind, claim!, values, onAnswer);
  }

  vote(claim: Claim, onVote: OnVote): void {
    this.#claim("vote", claim, [claim.token], onVote);
  }

  extend(claim: Claim, repair: boolean, onVote: OnVote): void {
    this.#claim(repair ? "repair" : "extend", claim, [claim.token], onVote);
  }

  /**
   * A claim of another primitive, by its own script, over this connection and in the order of the calls. Such
   * votes pass the clock watch like all others, because no other method reaches the connection.
   */
  claimWith(call: ScriptCall<Answer>, onVote: OnVote): void {
    this.#withReading(call.claim!.ttl, call.purpose, onVote, (onAnswer, onSent) => {
      void this.#scriptCalls.run(call, onSent).then(onAnswer);
    });
  }

  /** The same for a script that claims nothing. */
  runScript<A extends ReleaseAnswer | number>(call: ScriptCall<A>): Promise<A | Fault> {
    return this.#scriptCalls.run(call);
  }

  release(resources: readonly string[], tokens: readonly string[], onAnswer: OnAnswer<ReleaseAnswer>): void {
    this.#post(this.queue ? "release" : "delete", resources, tokens, 0, undefined, onAnswer);
  }

  inspect(resource: string, onAnswer: OnAnswer<KeyState>): void {
    if (this.queue) this.#post("inspect", [resource], [], 0, undefined, onAnswer);
    else void this.#inspectPlain(resource).then(onAnswer);
  }

  get database(): number | undefined {
    const { database = 0 } = this.#connection;
    return database === "unknown" ? undefined : database;
  }

  get guarded(): GuardedMaster {
    return {
      watchWith: (guard) => {
        this.#guard = guard;
      },
      state: (guard, onAnswer) =>
        this.#post("guardState", [], [], 0, undefined, onAnswer, guard ?? this.#guard),
      restoreCounters: (epoch, floor, onAnswer) =>
        this.#post("restoreCounters", [], [epoch, `${floor}`], 0, undefined, onAnswer),
    };
  }

  get server(): MasterServer {
    return {
      ids: this.#connection.serverIds ?? [],
      refuseVotes: (refusal) => {
        this.#refusal = refusal;
      },
    };
  }

  watchClock(clock: MasterClock): void {
    this.#clock = clock;
  }

  onMove(listener: (why: string, old: LockNode) => void): void {
    this.#moves ??= this.#followMoves();
    this.#moves.add(listener);
  }

  onReady(listener: () => void): () => void {
    return this.#connection.onReady(listener);
  }

  close(): Promise<void> {
    this.#sendQueue.finish();
    return this.#connection.close();
  }

  disconnect(): void {
    this.#connection.disconnect();
  }

  #followMoves(): Moves {
    const moves: Moves = new WeakListeners();
    const runtime = this.#runtime;
    const options = { groupCommit: this.#groupCommit, queue: this.queue !== undefined, runtime };
    this.#onDatabaseLeft = (why, connection) => {
      const old = new RedisNode(connection, options);
      if (this.#guard) old.guarded.watchWith(this.#guard);
      moves.call(why, old);
    };
    this.#connection.onMove?.(this.#onDatabaseLeft);
    return moves;
  }

  #makeQueue(onFault: (error: NodeError) => void): LockQueue {
    const subscription = new GrantSubscription(this.#connection, (error) => {
      const fault =
        error instanceof UnexpectedReply
          ? unexpected(this.name, error.reply)
          : failed(this.name, error, this.#connection.isErrorReply(error), []);
      outside(() => onFault(fault.error));
    });
    return {
      enqueue: (entry, onVote) => {
        this.#claim("enqueue", entry, [entry.token, subscription.address], onVote);
      },
      time: (onAnswer) => this.#askTime("request", onAnswer),
      transfer: (claim, previous, onVote) => this.#claim("transfer", claim, [claim.token, previous], onVote),
      listen: (channel, onPush, onChange) =>
        subscription.listen(channel, (push) => this.#onPush(push, onPush), onChange),
      get isListening() {
        return subscription.isListening;
      },
    };
  }

  get #scriptCalls(): ScriptCalls {
    this.#calls ??= new ScriptCalls(this.#connection, this.#runtime, () => this.#refusal);
    return this.#calls;
  }

  #claim(kind: OperationKind, claim: Claim, values: readonly string[], onVote: OnVote): void {
    const { resources, ttl } = claim;
    if (!this.#clock) {
      const onAnswer = this.#guard ? (answer: Answer): void => onVote(this.#reportRefusal(answer)) : onVote;
      this.#post(kind, resources, values, ttl, claim, onAnswer);
      return;
    }
    const purpose = kind === "vote" || kind === "enqueue" ? "request" : "keep";
    this.#withReading(ttl, purpose, onVote, (onAnswer, onSent) => {
      this.#post(kind, resources, values, ttl, claim, onAnswer);
      onSent();
    });
  }

  /**
   * Sends a claim; every vote passes here if the clock is watched (PROTOCOL 11.4). If the clock judges votes, its reading is
   * requested behind each vote on the same connection (`onSent`), and in a batch both execute in one step.
   * The reading then shows every step of the clock before the vote, unless the clock was set right in the
   * short time between.
   */
  #withReading(
    ttl: number,
    purpose: Purpose,
    onVote: OnVote,
    ask: (onAnswer: OnAnswer<Answer>, onSent: () => void) => void,
  ): void {
    const clock = this.#clock;
    if (!clock) {
      ask(this.#guard ? (answer) => onVote(this.#reportRefusal(answer)) : onVote, () => {});
      return;
    }
    clock.askedFor(ttl);
    if (!clock.judgesVotes) {
      // One time read at a time is enough (PROTOCOL 11.1).
      ask(
        (answer) => onVote(this.#reportRefusal(answer)),
        () => void (this.#isReading || this.#readTime(purpose, () => {})),
      );
      return;
    }
    let answer: Answer | undefined;
    let reading: Reading | Fault | undefined;
    let readings = 0;
    const forward = (): void => {
      if (answer?.vote === "none") onVote(answer);
      else if (answer && reading) onVote(timed(answer, clock, reading));
    };
    const onAnswer = (its: Answer): void => {
      answer = this.#reportRefusal(its);
      forward();
    };
    // A claim that is sent again is read again: the latest reading is the one behind it.
    ask(onAnswer, () => {
      readings += 1;
      const number = readings;
      reading = undefined;
      this.#readTime(purpose, (its) => {
        if (number !== readings) return;
        reading = its;
        if (answer?.vote !== "none") forward();
      });
    });
  }

  /** Reports to the guard that a vote was refused, or that the master is in quarantine. */
  #reportRefusal(answer: Answer): Answer {
    if (answer.vote === "none") this.#guard?.refused(answer.error);
    else if (answer.vote === "yes" && answer.inQuarantine) this.#guard?.extendedInQuarantine();
    return answer;
  }

  /** A grant is a vote that the master gave at some time since the request: the clock is read behind it. */
  #onPush(push: Push, onPush: OnPush): void {
    const clock = this.#clock;
    if (!clock?.judgesVotes || push.kind === "wake") onPush(push);
    else
      this.#readTime("keep", (reading) => void ("vote" in reading || onPush({ vote: push, clock, reading })));
  }

  /** `purpose`: that of the claim before it, which it must not overtake (PROTOCOL 12.8). */
  #readTime(purpose: Purpose, onReading: (reading: Reading | Fault) => void): void {
    this.#isReading = true;
    this.#askTime(purpose, (answer, reading) => {
      this.#isReading = false;
      onReading("vote" in answer ? answer : reading!);
    });
  }

  /** The clock watch sees every reading, for any purpose (PROTOCOL 11.1). */
  #askTime(purpose: Purpose, onTime: (answer: Time | Fault, reading?: Reading) => void): void {
    const clock = this.#clock;
    let sent = clock?.now();
    const onSend = (): void => {
      sent = clock?.now();
    };
    const onAnswer = (_: object, answer: unknown): void => {
      const time = answer as Time | Fault;
      onTime(time, "time" in time ? clock?.observe(sent!, time.time) : undefined);
    };
    const isUnbatched = !this.#groupCommit;
    this.#postOperation(operationOf(timeRead, onAnswer, { isUnbatched, purpose, onSend }));
  }

  /** Without a queue, two plain commands read everything. */
  async #inspectPlain(resource: string): Promise<KeyState | Fault> {
    const notReadyReason = this.#connection.isReady ? undefined : await this.#connected();
    if (notReadyReason !== undefined) return unsent(this.name, notReadyReason);
    // After all earlier operations.
    this.#sendQueue.flush();
    try {
      const replies = [this.#connection.send("GET", [resource]), this.#connection.send("PTTL", [resource])];
      const [owner, left] = await Promise.all(replies);
      return (
        keyStateIn([typeof owner === "string" ? masked(owner) : owner, left, 0]) ??
        unexpected(this.name, left)
      );
    } catch (error) {
      return failed(this.name, error, this.#connection.isErrorReply(error), []);
    }
  }

  #post<A>(
    kind: OperationKind,
    keys: readonly string[],
    values: readonly string[],
    ttl: number,
    claim: Claim | undefined,
    onAnswer: OnAnswer<A>,
    guard: Guard | undefined = this.#guard,
  ): void {
    const isUnbatched = !this.#groupCommit;
    // The answer has the type of the operation.
    const onOwnAnswer = (_: object, answer: unknown): void => onAnswer(answer as A | Fault);
    const asked = { kind, keys, values, ttl, claim };
    this.#postOperation(operationOf(asked, onOwnAnswer, { isUnbatched, guard }));
  }

  #postOperation(operation: Operation): void {
    if (!this.#connection.isReady) void this.#postWhenConnected(operation);
    // The connection has been made, so it is known whether its server votes through another node.
    else if (this.#refusal && !isRelease(operation)) operation.onAnswer(this.client, this.#refusal);
    else if (operation.guard && this.database === undefined)
      operation.onAnswer(this.client, this.#unguardable);
    else this.#sendQueue.post(operation);
  }

  /** A marker of the restart guard names its database (PROTOCOL 9.3). */
  get #unguardable(): Fault {
    return fault(this.name, "NOPERM", "its database is unknown, because CLIENT INFO is not allowed", false);
  }

  /** Sends once the first connection is ready, or not at all. */
  async #postWhenConnected(operation: Operation): Promise<void> {
    const notReadyReason = await this.#connected();
    if (isAbandoned(operation)) operation.onAnswer(this.client, this.#sendQueue.abandonedFault);
    else if (notReadyReason !== undefined) operation.onAnswer(this.client, unsent(this.name, notReadyReason));
    else this.#postOperation(operation);
  }

  /** The reason why the connection is not ready, after the first attempt to connect; `undefined` if it is. */
  async #connected(): Promise<string | undefined> {
    await this.#connection.connectFirst();
    return this.#connection.isReady ? undefined : this.#connection.notReadyReason;
  }
}

type Moves = WeakListeners<[why: string, old: LockNode]>;

const timeRead = { kind: "time", keys: [], values: [], ttl: 0, claim: undefined } as const;

/** A yes without a reading does not count. */
function timed(answer: Answer, clock: MasterClock, reading: Reading | Fault): Answer | Timed<Answer> {
  if (!("vote" in reading)) return { vote: answer, clock, reading };
  return answer.vote === "yes" ? { ...reading, sent: true } : answer;
}
