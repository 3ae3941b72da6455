import type { NodeError } from "../errors.ts";
import { failed, fault, unexpected, unsent } from "../protocol/faults.ts";
import type { MasterClock } from "../protocol/master-clock.ts";
import type {
  Answer,
  ClockJudge,
  Fault,
  Grant,
  Guard,
  KeyState,
  LockNode,
  LockQueue,
  MasterServer,
  No,
  OnPush,
  Question,
  Reading,
  RecordStore,
  Sink,
  Timed,
  Wake,
  Yes,
} from "../protocol/node.ts";
import { questionOf, timeRead } from "../protocol/question.ts";
import { SharedReads } from "../protocol/shared-reads.ts";
import { typeIn } from "../protocol/token.ts";
import { readersScript, waitersScript } from "../scripts.generated.ts";
import { outside } from "../time/async-context.ts";
import { systemRuntime } from "../time/system.ts";
import { ClosedConnection } from "./closed-connection.ts";
import { isAbandoned, isRelease, type Posted, type Purpose, purposeOf } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { GrantSubscription } from "./grant-subscription.ts";
import { UnexpectedReply } from "./reply-numbers.ts";
import { type SendQueue, type SendQueueRuntime, sendQueueOf } from "./send-queue.ts";

export interface RedisNodeOptions {
  /** Whether questions are sent together while earlier ones are unanswered. Default true. Always off on a Cluster. */
  readonly groupCommit?: boolean | undefined;
  /** Whether the master keeps queues of waiting claims. Default true. Always off on a Cluster. */
  readonly queue?: boolean | undefined;
  /** Called with faults that belong to no round. Default: ignored. */
  readonly onFault?: ((error: NodeError) => void) | undefined;
  /** Default: the system clock and timers. */
  readonly runtime?: SendQueueRuntime | undefined;
  /**
   * The maximum number of questions in flight, and the same again of those that keep a lease. Default 512.
   */
  readonly window?: number | undefined;
}

/**
 * A master reached by plain commands and Lua scripts: turns calls into questions, and replies into answers.
 */
export class RedisNode implements LockNode {
  readonly name: string;
  readonly client: object;
  /** False on a Cluster. */
  readonly keepsCounters: boolean;
  readonly queue: LockQueue | undefined;
  #connection: Connection;
  readonly #options: RedisNodeOptions;
  readonly #runtime: SendQueueRuntime;
  readonly #groupCommit: boolean;
  readonly #sendQueue: SendQueue;
  /** Where grants are pushed to; set exactly if there is a queue. */
  #inbox: GrantSubscription | undefined;
  /** Set while the server votes through another node. */
  #refusal: Fault | undefined;
  #latestRefusal: Fault | undefined;
  #guard: Guard | undefined;
  #judge: ClockJudge | undefined;
  readonly #waiterReads = new SharedReads();
  readonly #shareReads = new SharedReads();
  /** Whether a time read is unanswered. */
  #isReading = false;

  constructor(connection: Connection, options: RedisNodeOptions = {}) {
    this.#connection = connection;
    connection.join?.();
    this.#options = options;
    this.name = connection.name;
    this.client = connection.client;
    // Its keys are in many slots, and each command is for one of them (PROTOCOL 12.6).
    const { isCluster = false } = connection;
    this.keepsCounters = !isCluster;
    this.#groupCommit = (options.groupCommit ?? true) && !isCluster;
    this.#runtime = options.runtime ?? systemRuntime;
    this.#sendQueue = sendQueueOf(connection, this.#runtime, options.window);
    if ((options.queue ?? true) && !isCluster) this.queue = this.#makeQueue(options.onFault ?? (() => {}));
  }

  /**
   * Not of a subclass, a Proxy of one, or one with a method replaced: these answer in their own way.
   * @internal
   */
  static isUnchanged(node: object): node is RedisNode {
    const { prototype } = RedisNode;
    const isOne = #connection in node && Object.getPrototypeOf(node) === prototype;
    return isOne && !Object.keys(node).some((name) => name in prototype);
  }

  /** The same master, with these options instead of those that it was not given. */
  withDefaults(defaults: RedisNodeOptions): RedisNode {
    return new RedisNode(this.#connection, { ...defaults, ...this.#options });
  }

  get drainedAt(): number {
    return this.#sendQueue.drainedAt;
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.#connection.refuses?.(resources);
  }

  /** The only way to the master: a claim of any kind passes the guard and the clock watch here. */
  ask(question: Question, place: number, sink: Sink): void {
    const { verb, claim } = question;
    if (this.#isPlain && verb !== "enqueue" && verb !== "time")
      this.#sendQueue.post(this.#posted(question, place, sink));
    else if (verb === "time") this.#readTime("request", (reading) => sink.answered(place, reading));
    else if (verb === "inspect" && !this.queue) this.#inspectByRefusal(question, place, sink);
    else if (!claim) this.#post(this.#posted(this.#own(question), place, sink, this.#guard));
    else this.#claim(this.#own(question), place, sink);
  }

  get database(): number {
    return this.#connection.database ?? 0;
  }

  watchGuard(guard: Guard): void {
    this.#guard = guard;
  }

  get server(): MasterServer {
    return {
      ids: this.#connection.serverIds ?? [],
      refuseVotes: (refusal) => {
        this.#refusal = refusal;
        this.#latestRefusal = refusal ?? this.#latestRefusal;
      },
    };
  }

  get records(): RecordStore {
    const connection = this.#connection;
    const isOpen = connection.isReady && !this.#refusal;
    const read = async (reads: SharedReads, script: string, key: string): Promise<unknown> => {
      const send = (): Promise<unknown> => connection.send("EVAL", [script, 1, key]);
      const reply = reads.read(connection.session, key, send);
      if (reply) return reply;
      throw new Error("too many reads are unanswered");
    };
    const waitersOf = (key: string): Promise<unknown> => read(this.#waiterReads, waitersScript.source, key);
    return {
      session: isOpen ? connection.session : undefined,
      keyPrefix: connection.keyPrefix,
      isCluster: connection.isCluster ?? false,
      send: (command, args) => connection.send(command, args),
      waitersOf: async (key) => (this.queue ? listIn(await waitersOf(key)) : []) as string[],
      readersOf: async (key) =>
        listIn(await read(this.#shareReads, readersScript.source, key)) as [string, number][],
    };
  }

  watchClock(judge: ClockJudge): void {
    this.#judge = judge;
  }

  get clock(): MasterClock {
    return this.#sendQueue.clock;
  }

  onMove(listener: (why: string) => void): void {
    this.#connection.onMove?.(listener);
  }

  onReady(listener: () => void): () => void {
    return this.#connection.onReady(listener);
  }

  leave(): void {
    this.#sendQueue.finish();
    this.#connection.leave?.();
    // A late rollback would open it again.
    this.#connection = new ClosedConnection(this.#connection);
  }

  close(): Promise<void> {
    this.#sendQueue.finish();
    return this.#connection.close();
  }

  disconnect(): void {
    this.#connection.disconnect();
  }

  #makeQueue(onFault: (error: NodeError) => void): LockQueue {
    const subscription = new GrantSubscription(this.#connection, (error, channel) => {
      const fault =
        error instanceof UnexpectedReply
          ? unexpected(this.name, error.reply)
          : failed(this.name, error, this.#connection.isErrorReply(error), [
              channel.slice(channel.lastIndexOf(":") + 1),
            ]);
      outside(() => onFault(fault.error));
    });
    this.#inbox = subscription;
    this.#sendQueue.readsClock = true;
    return {
      listen: (channel, onPush, onChange) =>
        subscription.listen(channel, (push) => this.#onPush(push, onPush), onChange),
      get isListening() {
        return subscription.isListening;
      },
    };
  }

  /** Whether a question of a round is sent as it is, and now. */
  get #isPlain(): boolean {
    const addsNothing = this.#groupCommit && this.queue !== undefined && !this.#guard && !this.#judge;
    return addsNothing && !this.#refusal && this.#connection.isReady;
  }

  /** The question as this master is asked it. */
  #own(question: Question): Question {
    const { verb, words } = question;
    if (verb === "release" && !this.queue) return questionOf({ ...question, verb: "delete" });
    if (verb !== "enqueue") return question;
    return questionOf({ ...question, words: [words[0]!, this.#inbox!.address] });
  }

  #posted(
    question: Question,
    place: number,
    sink: Sink,
    guard?: Guard,
    purpose: Purpose = purposeOf(question),
    onSend?: () => void,
  ): Posted {
    return { question, place, sink, purpose, isUnbatched: !this.#groupCommit, guard, onSend };
  }

  /**
   * Sends a claim; every vote passes here if the clock is watched (PROTOCOL 11.4). If the clock judges votes, its reading is
   * requested behind each vote on the same connection, and in a batch both execute in one step. The reading then shows every
   * step of the clock before the vote, unless the clock was set right in the short time between.
   */
  #claim(question: Question, place: number, sink: Sink): void {
    const judge = this.#judge;
    judge?.askedFor(question.ttl);
    if (judge?.judgesVotes) {
      this.#claimWithReading(question, judge, place, sink);
      return;
    }
    const answered: Sink["answered"] = (_, answer) => {
      this.#reportRefusal(answer);
      sink.answered(place, answer);
    };
    this.#post(this.#posted(question, place, this.#guard ? { answered } : sink, this.#guard));
    // One time read at a time is enough (PROTOCOL 11.1).
    if (judge && !this.#isReading) this.#readTime(purposeOf(question), () => {});
  }

  #claimWithReading(question: Question, judge: ClockJudge, place: number, sink: Sink): void {
    let answer: Answer | Timed | undefined;
    let reading: Reading | Fault | undefined;
    let readings = 0;
    const forward = (): void => {
      if (answer?.is !== "yes" && answer?.is !== "no") {
        if (answer) sink.answered(place, answer);
      } else if (reading) sink.answered(place, timed(answer, judge, reading));
    };
    const answered: Sink["answered"] = (_, its) => {
      answer = its;
      this.#reportRefusal(its);
      forward();
    };
    const purpose = purposeOf(question);
    const read = (): void => {
      readings += 1;
      const number = readings;
      reading = undefined;
      this.#readTime(purpose, (its) => {
        if (number !== readings) return;
        reading = its;
        if (answer?.is === "yes" || answer?.is === "no") forward();
      });
    };
    // A claim that is sent again is read again: the latest reading is the one behind it. In a batch both are sent again.
    const readBehind = (): void => void Promise.resolve().then(read);
    const onSend = this.#groupCommit ? undefined : readBehind;
    this.#post(this.#posted(question, place, { answered }, this.#guard, purpose, onSend));
    if (this.#groupCommit) read();
  }

  /** Reports to the guard that a vote was refused, or that the master is in quarantine. */
  #reportRefusal(answer: Answer | Timed): void {
    if (answer.is === "fault") this.#guard?.refused(answer.error);
    else if (answer.is === "yes" && answer.inQuarantine) this.#guard?.extendedInQuarantine();
  }

  /** A grant is a vote that the master gave at some time since the request: the clock is read behind it. */
  #onPush(push: Grant | Wake, onPush: OnPush): void {
    const judge = this.#judge;
    if (!judge?.judgesVotes || push.is === "wake") onPush(push);
    else
      this.#readTime(
        "keep",
        (reading) =>
          void (reading.is === "fault" || onPush({ is: "timed", vote: push, clock: judge, reading })),
      );
  }

  /** `purpose`: that of the claim before it, which it must not overtake (PROTOCOL 12.8). */
  #readTime(purpose: Purpose, onReading: (reading: Reading | Fault) => void): void {
    const { clock } = this;
    this.#isReading = true;
    let sent = clock.now();
    const onSend = (): void => {
      sent = clock.now();
    };
    const answered: Sink["answered"] = (_, answer) => {
      this.#isReading = false;
      if (answer.is === "time") onReading(clock.observe(sent, answer.time));
      else if (answer.is === "fault") onReading(answer);
    };
    this.#post(this.#posted(timeRead, 0, { answered }, undefined, purpose, onSend));
  }

  /**
   * Without a queue: what a claim that nobody makes would be refused by. A GET would show the token (PROTOCOL 2.17).
   */
  #inspectByRefusal(question: Question, place: number, sink: Sink): void {
    const answered: Sink["answered"] = (_, answer) =>
      sink.answered(place, answer.is === "yes" || answer.is === "no" ? this.#keyStateIn(answer) : answer);
    const claim = questionOf({ ...question, verb: "extend", words: [nobody], ttl: 1 });
    this.#post(this.#posted(claim, place, { answered }, undefined, "request"));
  }

  #keyStateIn(answer: Yes | No): KeyState | Fault {
    const owner = answer.is === "no" ? answer.owner : nobody;
    if (typeIn(owner) !== undefined) return fault(this.name, "WRONGTYPE", "the key holds no string", true);
    return { is: "state", owner, remaining: answer.remaining, queueLength: 0 };
  }

  #post(posted: Posted): void {
    if (!this.#connection.isReady) void this.#postWhenConnected(posted);
    // The connection has been made, so it is known whether its server votes through another node.
    else if (this.#refusal && !isRelease(posted.question)) posted.sink.answered(posted.place, this.#refusal);
    else this.#sendQueue.post(posted);
  }

  /** Sends once the first connection is ready, or not at all. */
  async #postWhenConnected(posted: Posted): Promise<void> {
    const { question, place, sink } = posted;
    const before = this.#latestRefusal;
    const notReadyReason = await this.#connected();
    // PROTOCOL 2.10: the round may have a vote of this server by another address.
    const hasVoted = this.#latestRefusal !== before;
    if (isAbandoned(question)) sink.answered(place, this.#sendQueue.abandonedFault);
    else if (notReadyReason !== undefined) sink.answered(place, unsent(this.name, notReadyReason));
    else if (hasVoted && question.claim) sink.answered(place, this.#latestRefusal!);
    else this.#post(posted);
  }

  /** The reason why the connection is not ready, after the first attempt to connect; `undefined` if it is. */
  async #connected(): Promise<string | undefined> {
    await this.#connection.connectFirst();
    return this.#connection.isReady ? undefined : this.#connection.notReadyReason;
  }
}

/** A token that no lock has: the claim changes nothing, whatever the value of the key. */
const nobody = "-";

/** A yes without a reading does not count. */
function timed(answer: Yes | No, judge: ClockJudge, reading: Reading | Fault): Answer | Timed {
  if (reading.is === "reading") return { is: "timed", vote: answer, clock: judge, reading };
  return answer.is === "yes" ? { ...reading, sent: true } : answer;
}

/** A reply that should be a list. */
function listIn(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}
