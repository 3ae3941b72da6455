import type { NodeError } from "../errors.ts";
import { failed, unexpected, unsent } from "../protocol/faults.ts";
import type {
  Answer,
  Claim,
  Fault,
  Guard,
  GuardedMaster,
  Holding,
  LockNode,
  LockQueue,
  MasterClock,
  MasterServer,
  OnAnswer,
  OnPush,
  OnVote,
  Push,
  Question,
  Reading,
  ReleaseAnswer,
  Timed,
} from "../protocol/node.ts";
import { WeakListeners } from "../protocol/weak-listeners.ts";
import { whyReserved } from "../settings/resources.ts";
import { outside } from "../time/async-context.ts";
import { systemRuntime } from "../time/system.ts";
import { holdingIn, isAbandoned, isRelease, type Operation, type Purpose, type Time } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { GrantSubscription } from "./grant-subscription.ts";
import { type ScriptCall, ScriptCalls } from "./script-calls.ts";
import { type SendQueue, type SendQueueRuntime, sendQueueOf } from "./send-queue.ts";
import { UnexpectedReply } from "./transaction.ts";

export interface RedisNodeOptions {
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
  readonly runtime?: SendQueueRuntime;
  /** How many operations may be in flight, and beside them how many that keep a lease. Default 512. */
  readonly window?: number;
}

/** A master reached by plain commands and Lua scripts: what the wire carries, and what its replies mean. */
export class RedisNode implements LockNode {
  readonly name: string;
  readonly client: object;
  /** Counters are in other slots than the keys, and the floor is one for all: no script on a Cluster reaches them. */
  readonly keepsCounters: boolean;
  readonly queue: LockQueue | undefined;
  readonly #connection: Connection;
  readonly #runtime: SendQueueRuntime;
  readonly #groupCommit: boolean;
  readonly #sendQueue: SendQueue;
  #calls: ScriptCalls | undefined;
  /** While the server votes through another node. */
  #refusal: Fault | undefined;
  #moves: Moves | undefined;
  /** Only kept, for as long as there is this node. */
  #follow: ((why: string, old: Connection) => void) | undefined;
  #guard: Guard | undefined;
  #clock: MasterClock | undefined;
  /** Whether a question for the time is unanswered. */
  #isReading = false;

  constructor(connection: Connection, options: RedisNodeOptions = {}) {
    this.#connection = connection;
    this.name = connection.name;
    this.client = connection.client;
    this.keepsCounters = connection.slotOf?.("", false) === undefined;
    this.#groupCommit = options.groupCommit ?? true;
    this.#runtime = options.runtime ?? systemRuntime;
    this.#sendQueue = sendQueueOf(connection, this.#runtime, options.window);
    if ((options.queue ?? true) && this.keepsCounters)
      this.queue = this.#makeQueue(options.onFault ?? (() => {}));
  }

  get drainedAt(): number {
    return Math.max(this.#sendQueue.drainedAt, this.#calls?.drainedAt ?? Number.NEGATIVE_INFINITY);
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.#connection.refuses?.(resources) ?? whyReserved(resources);
  }

  ask(question: Question): void {
    if (this.#groupCommit && this.queue && !this.#guard && !this.#clock) {
      this.#postOperation(question as Operation);
      return;
    }
    // What is asked of this master in a way of its own has an operation of its own.
    const { kind, keys, words, claim } = question;
    const onAnswer = (answer: Answer | ReleaseAnswer | Timed<Answer>): void =>
      question.hear(this.client, answer);
    if (kind === "release") this.release(keys, words, onAnswer);
    else this.#claim(kind, claim!, words, onAnswer);
  }

  vote(claim: Claim, settle: OnVote): void {
    this.#claim("vote", claim, [claim.token], settle);
  }

  extend(claim: Claim, repair: boolean, settle: OnVote): void {
    this.#claim(repair ? "repair" : "extend", claim, [claim.token], settle);
  }

  /**
   * Another primitive's claim by a script of its own, over this connection and in the order of the calls. There is no
   * other way to the connection, so its votes are watched as all are.
   */
  claimWith(call: ScriptCall<Answer>, settle: OnVote): void {
    this.#watched(call.claim!.ttl, call.purpose, settle, (answered, sent) => {
      void this.#scriptCalls.run(call, sent).then(answered);
    });
  }

  /** The same for what claims nothing. */
  runScript<A extends ReleaseAnswer | number>(call: ScriptCall<A>): Promise<A | Fault> {
    return this.#scriptCalls.run(call);
  }

  release(resources: readonly string[], tokens: readonly string[], settle: OnAnswer<ReleaseAnswer>): void {
    this.#post(this.queue ? "release" : "delete", resources, tokens, 0, undefined, settle);
  }

  inspect(resource: string, settle: OnAnswer<Holding>): void {
    if (this.queue) this.#post("inspect", [resource], [], 0, undefined, settle);
    else void this.#look(resource).then(settle);
  }

  get database(): number {
    return this.#connection.database ?? 0;
  }

  get guarded(): GuardedMaster {
    return {
      watchWith: (guard) => {
        this.#guard = guard;
      },
      state: (guard, settle) => this.#post("guardState", [], [], 0, undefined, settle, guard ?? this.#guard),
      restoreCounters: (epoch, floor, settle) =>
        this.#post("restoreCounters", [], [epoch, `${floor}`], 0, undefined, settle),
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
    this.#follow = (why, connection) => {
      const old = new RedisNode(connection, options);
      if (this.#guard) old.guarded.watchWith(this.#guard);
      moves.call(why, old);
    };
    this.#connection.onMove?.(this.#follow);
    return moves;
  }

  #makeQueue(onFault: (error: NodeError) => void): LockQueue {
    const inbox = new GrantSubscription(this.#connection, (error) => {
      const what =
        error instanceof UnexpectedReply
          ? unexpected(this.name, error.reply)
          : failed(this.name, error, this.#connection.isReply(error), []);
      outside(() => onFault(what.error));
    });
    return {
      enqueue: (enrolment, settle) => {
        this.#claim("enqueue", enrolment, [enrolment.token, inbox.address], settle);
      },
      swap: (claim, previous, settle) => this.#claim("transfer", claim, [claim.token, previous], settle),
      listen: (channel, hear, onChange) =>
        inbox.listen(channel, (push) => this.#hearPush(push, hear), onChange),
      get isListening() {
        return inbox.isListening;
      },
    };
  }

  get #scriptCalls(): ScriptCalls {
    this.#calls ??= new ScriptCalls(this.#connection, this.#runtime, () => this.#refusal);
    return this.#calls;
  }

  #claim(kind: Kind, claim: Claim, words: readonly string[], settle: OnVote): void {
    const { resources, ttl } = claim;
    if (!this.#clock) {
      const answered = this.#guard ? (answer: Answer): void => settle(this.#guarded(answer)) : settle;
      this.#post(kind, resources, words, ttl, claim, answered);
      return;
    }
    const purpose = kind === "vote" || kind === "enqueue" ? "request" : "keep";
    this.#watched(ttl, purpose, settle, (answered, sent) => {
      this.#post(kind, resources, words, ttl, claim, answered);
      sent();
    });
  }

  /**
   * The one way on which a vote leaves where the clock is watched. Where the clock judges votes its reading goes with each of them, asked
   * for behind the vote on the same connection (`sent`): in a batch both are one step of the master. So a clock that had
   * stepped before the vote shows it, unless it was set right in the very moment between.
   */
  #watched(
    ttl: number,
    purpose: Purpose,
    settle: OnVote,
    ask: (answered: OnAnswer<Answer>, sent: () => void) => void,
  ): void {
    const clock = this.#clock;
    if (!clock) {
      ask(this.#guard ? (answer) => settle(this.#guarded(answer)) : settle, () => {});
      return;
    }
    clock.askedFor(ttl);
    if (!clock.judgesVotes) {
      // One question at a time tells enough.
      ask(
        (answer) => settle(this.#guarded(answer)),
        () => void (this.#isReading || this.#readTime(clock, purpose, () => {})),
      );
      return;
    }
    let answer: Answer | undefined;
    let reading: Reading | Fault | undefined;
    let readings = 0;
    const tell = (): void => {
      if (answer?.vote === "none") settle(answer);
      else if (answer && reading) settle(timed(answer, clock, reading));
    };
    const answered = (its: Answer): void => {
      answer = this.#guarded(its);
      tell();
    };
    // What is sent again is read again: the latest reading is the one behind it.
    ask(answered, () => {
      readings += 1;
      const number = readings;
      reading = undefined;
      this.#readTime(clock, purpose, (its) => {
        if (number !== readings) return;
        reading = its;
        if (answer?.vote !== "none") tell();
      });
    });
  }

  /** Of a vote that was refused the guard is told. */
  #guarded(answer: Answer): Answer {
    if (answer.vote === "none") this.#guard?.refused(answer.error);
    return answer;
  }

  /** A grant is a vote, given at some moment since it was asked for: the clock is read behind it. */
  #hearPush(push: Push, hear: OnPush): void {
    const clock = this.#clock;
    if (!clock?.judgesVotes || push.kind === "wake") hear(push);
    else
      this.#readTime(
        clock,
        "keep",
        (reading) => void ("vote" in reading || hear({ vote: push, clock, reading })),
      );
  }

  /** `purpose`: that of the claim in front of it, which it must not overtake. */
  #readTime(clock: MasterClock, purpose: Purpose, heard: (reading: Reading | Fault) => void): void {
    this.#isReading = true;
    let sent = clock.now();
    const onSend = (): void => {
      sent = clock.now();
    };
    const settle = (answer: Time | Fault): void => {
      this.#isReading = false;
      heard("time" in answer ? clock.observe(sent, answer.time) : answer);
    };
    this.#postOperation({
      ...time,
      purpose,
      onSend,
      hear: (_, answer) => settle(answer as Time | Fault),
      isAlone: !this.#groupCommit,
    });
  }

  /** Without a queue there is nothing that a script would have to look at as well. */
  async #look(resource: string): Promise<Holding | Fault> {
    const notReadyReason = this.#connection.isReady ? undefined : await this.#connected();
    if (notReadyReason !== undefined) return unsent(this.name, notReadyReason);
    // Behind all that was asked for before.
    this.#sendQueue.flush();
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
    settle: OnAnswer<A>,
    guard: Guard | undefined = this.#guard,
  ): void {
    const isAlone = !this.#groupCommit;
    // An operation is answered in its own kind.
    const hear = (_: object, answer: unknown): void => settle(answer as A | Fault);
    this.#postOperation({ kind, keys, words, ttl, claim, isAlone, guard, hear });
  }

  #postOperation(operation: Operation): void {
    if (!this.#connection.isReady) void this.#postWhenConnected(operation);
    // Where it leads is known from here on, and whether that server has its vote through another node.
    else if (this.#refusal && !isRelease(operation)) operation.hear(this.client, this.#refusal);
    else this.#sendQueue.post(operation);
  }

  /** Sends when the first connection stands, or not at all. */
  async #postWhenConnected(operation: Operation): Promise<void> {
    const notReadyReason = await this.#connected();
    if (isAbandoned(operation)) operation.hear(this.client, this.#sendQueue.abandoned);
    else if (notReadyReason !== undefined) operation.hear(this.client, unsent(this.name, notReadyReason));
    else this.#postOperation(operation);
  }

  /** What is in the way, once the first connection stands or has failed. */
  async #connected(): Promise<string | undefined> {
    await this.#connection.connectFirst();
    return this.#connection.isReady ? undefined : this.#connection.notReadyReason;
  }
}

type Kind = Operation["kind"];
type Moves = WeakListeners<[why: string, old: LockNode]>;

/** What is the same whenever the time is asked for. */
const time = { kind: "time", keys: [], words: [], ttl: 0, claim: undefined, guard: undefined } as const;

/** Without a reading a yes is none. */
function timed(answer: Answer, clock: MasterClock, reading: Reading | Fault): Answer | Timed<Answer> {
  if (!("vote" in reading)) return { vote: answer, clock, reading };
  return answer.vote === "yes" ? { ...reading, sent: true } : answer;
}
