import type { NodeError } from "../errors.ts";
import { fault } from "../protocol/faults.ts";
import type {
  Answer,
  Fault,
  Grant,
  Guard,
  KeyState,
  No,
  OnPush,
  Question,
  RecordStore,
  Sink,
  Timed,
  Wake,
  Yes,
} from "../protocol/node.ts";
import { questionOf, timeRead } from "../protocol/question.ts";
import type { ClockJudge, Reading } from "../protocol/reading.ts";
import { SharedReads } from "../protocol/shared-reads.ts";
import { typeIn } from "../protocol/token.ts";
import { readersScript, type Script, waitersScript } from "../scripts.generated.ts";
import type { Asker, Posted } from "./batch.ts";
import { verbs } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { GrantSubscription } from "./grant-subscription.ts";
import { Master, type MasterOptions } from "./master.ts";
import type { MasterClock } from "./master-clock.ts";
import { scriptWire } from "./script-wire.ts";

export interface RedisNodeOptions extends MasterOptions {
  /** Whether questions are sent together while earlier ones are unanswered. Default true. Always off on a Cluster. */
  readonly groupCommit?: boolean | undefined;
  /** Whether the master keeps queues of waiting claims. Default true. Always off on a Cluster. */
  readonly queue?: boolean | undefined;
  /** Called with faults that belong to no round. Default: ignored. */
  readonly onFault?: ((error: NodeError) => void) | undefined;
}

/**
 * A master reached by plain commands and Lua scripts, with what only scripts can do: a queue, a restart guard, votes that
 * are judged by the master's clock.
 */
export class RedisNode extends Master {
  /** False on a Cluster. */
  readonly keepsCounters: boolean;
  readonly queue: GrantSubscription | undefined;
  readonly #options: RedisNodeOptions;
  guard: Guard | undefined;
  #judge: ClockJudge | undefined;
  readonly #reads = new SharedReads();
  /** Whether a time read is unanswered. */
  #isReading = false;

  constructor(connection: Connection, options: RedisNodeOptions = {}) {
    // The keys of a Cluster are in many slots, and each command is for one of them (PROTOCOL 12.6).
    const { isCluster = false } = connection;
    super(connection, scriptWire, options, options.groupCommit === false || isCluster);
    this.#options = options;
    this.keepsCounters = !isCluster;
    if (isCluster || options.queue === false) return;
    this.queue = new GrantSubscription(connection, options.onFault, (push, to) => this.#onPush(push, to));
    this.window.clock.readFirst(connection);
  }

  /**
   * Not of a subclass, a Proxy of one, or one with a method replaced: these answer in their own way.
   * @internal
   */
  static isUnchanged(node: object): node is RedisNode {
    const { prototype } = RedisNode;
    const isOne = #options in node && Object.getPrototypeOf(node) === prototype;
    return isOne && !Object.keys(node).some((name) => name in prototype);
  }

  /** The same master, with these options instead of those that it was not given. */
  withDefaults(defaults: RedisNodeOptions): RedisNode {
    return new RedisNode(this.connection, { ...defaults, ...this.#options });
  }

  /**
   * Every vote passes here if the clock is watched (PROTOCOL 11.4). If the clock judges votes, it is read behind each, in one
   * step with it. The reading then shows every step of the clock before the vote.
   */
  override ask(question: Question, place: number, sink: Sink): void {
    const { verb, claim } = question;
    const judge = claim && this.#judge;
    judge?.askedFor(question.ttl);
    // One time read at a time is enough (PROTOCOL 11.1).
    const readsTime = judge ? judge.judgesVotes || !this.#isReading : verb === "time";
    this.#isReading ||= readsTime;
    const { purpose } = verbs[verb];
    if (verb === "inspect" && !this.queue) this.#inspectByRefusal(question, place, sink);
    else this.post({ question, place, sink, purpose, readsTime, asker: this });
  }

  override settled(posted: Posted, answer: Answer, reading?: Reading | Fault): void {
    const { question, sink, place, readsTime } = posted;
    if (readsTime) this.#isReading = false;
    if (question.claim) this.#report(answer);
    // A vote is judged by the clock behind it (PROTOCOL 11.4).
    const judge = question.claim && readsTime ? this.#judge : undefined;
    const isJudged = judge?.judgesVotes && (answer.is === "yes" || answer.is === "no");
    sink.answered(place, isJudged && reading ? timed(answer, judge, reading) : answer);
  }

  /** Reports to the guard that a vote was refused, or that the master is in quarantine. */
  #report(answer: Answer): void {
    if (answer.is === "fault") this.guard?.refused(answer.error);
    else if (answer.is === "yes" && answer.inQuarantine) this.guard?.extendedInQuarantine();
  }

  get inbox(): string | undefined {
    return this.queue?.address;
  }

  get database(): number {
    return this.connection.database ?? 0;
  }

  watchGuard(guard: Guard): void {
    this.guard = guard;
  }

  get records(): RecordStore {
    const { connection } = this;
    const read = async ({ source, sha1 }: Script, key: string): Promise<readonly unknown[]> => {
      const send = (): Promise<unknown> => connection.send("EVAL", [source, 1, key]);
      const reply = this.#reads.read(connection.session, `${sha1} ${key}`, send);
      if (!reply) throw new Error("too many reads are unanswered");
      const list = await reply;
      return Array.isArray(list) ? list : [];
    };
    return {
      session: this.isAsked ? connection.session : undefined,
      keyPrefix: connection.keyPrefix,
      isCluster: connection.isCluster ?? false,
      send: (command, args) => connection.send(command, args),
      waitersOf: async (key) => (this.queue ? await read(waitersScript, key) : []) as string[],
      readersOf: async (key) => (await read(readersScript, key)) as [string, number][],
    };
  }

  watchClock(judge: ClockJudge): void {
    this.#judge = judge;
  }

  get clock(): MasterClock {
    return this.window.clock;
  }

  /** A grant is a vote that the master gave at some time since the request: the clock is read behind it. */
  #onPush(push: Grant | Wake, onPush: OnPush): void {
    const judge = this.#judge;
    if (!judge?.judgesVotes || push.is === "wake") {
      onPush(push);
      return;
    }
    const answered: Sink["answered"] = (_, reading) =>
      void (reading.is === "reading" && onPush({ is: "timed", vote: push, clock: judge, reading }));
    const sink = { answered };
    this.post({ question: timeRead, place: 0, sink, purpose: "keep", readsTime: true, asker: this });
  }

  /**
   * Without a queue: what a claim that nobody makes would be refused by. A GET would show the token (PROTOCOL 2.17).
   */
  #inspectByRefusal(question: Question, place: number, sink: Sink): void {
    const claim = questionOf({ ...question, verb: "extend", words: [nobody], ttl: 1 });
    const hear: Asker["settled"] = (_, answer) =>
      sink.answered(place, answer.is === "yes" || answer.is === "no" ? this.#keyStateIn(answer) : answer);
    // (The guard would refuse a claim.)
    const asker = { isAlone: this.isAlone, settled: hear };
    this.post({ question: claim, place, sink, purpose: "request", readsTime: false, asker });
  }

  #keyStateIn(answer: Yes | No): KeyState | Fault {
    const owner = answer.is === "no" ? answer.owner : nobody;
    if (typeIn(owner) !== undefined) return fault(this.name, "WRONGTYPE", "the key holds no string", true);
    return { is: "state", owner, remaining: answer.remaining, queueLength: 0 };
  }
}

/** A token that no lock has: the claim changes nothing, whatever the value of the key. */
const nobody = "-";

/** A yes without a reading does not count. */
function timed(answer: Yes | No, judge: ClockJudge, reading: Reading | Fault): Answer | Timed {
  if (reading.is === "reading") return { is: "timed", vote: answer, clock: judge, reading };
  return answer.is === "yes" ? { ...reading, sent: true } : answer;
}
