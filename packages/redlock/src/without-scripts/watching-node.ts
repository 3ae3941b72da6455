import type { Session } from "../adapters/session.ts";
import { abandoned, failed, fault } from "../protocol/faults.ts";
import type {
  Answer,
  Fault,
  KeyState,
  LockNode,
  MasterServer,
  No,
  Outcome,
  Question,
  Sink,
} from "../protocol/node.ts";
import { questionOf } from "../protocol/question.ts";
import { rights } from "../protocol/rights.ts";
import { masked } from "../protocol/token.ts";
import { ClosedConnection } from "../redis/closed-connection.ts";
import type { Purpose } from "../redis/commands.ts";
import type { Connection } from "../redis/connection.ts";
import { countIn, timeLeftIn, UnexpectedReply } from "../redis/reply-numbers.ts";
import { type Call, CommandQueue } from "./command-queue.ts";
import { type Command, type FoundKey, foundKeyIn, otherType, Transaction } from "./transaction.ts";

/**
 * The maximum number of transactions for one call, if keys change during each of them. Each takes two round
 * trips.
 */
const maxTransactions = 5;

/**
 * A master used without scripts, for servers and users that may not run them. The equivalent of a script is a
 * {@link Transaction} of two round trips, one at a time on each connection. A vote for one resource is the
 * plain SET in both modes.
 *
 * The keys and tokens are the same as with scripts, so both kinds of clients exclude each other. There is no
 * queue: waiting means retrying.
 */
export class WatchingNode implements LockNode {
  readonly name: string;
  readonly client: object;
  #connection: Connection;
  #queue: CommandQueue;
  /** Set while the server votes through another node. */
  #refusal: Fault | undefined;
  #latestRefusal: Fault | undefined;

  /** All commands on the connection must go through `queue`, also those of other nodes. */
  constructor(connection: Connection, queue: CommandQueue) {
    this.#connection = connection;
    connection.join?.();
    this.#queue = queue;
    this.name = connection.name;
    this.client = connection.client;
  }

  get drainedAt(): number {
    return this.#queue.drainedAt;
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.#connection.refuses?.(resources);
  }

  ask(question: Question, place: number, sink: Sink): void {
    void this.#answerTo(question).then((answer) => sink.answered(place, answer ?? this.#contended()));
  }

  /** `undefined` if others changed the keys during each transaction. */
  #answerTo(question: Question): Promise<Answer | undefined> {
    const { verb, keys, claim } = question;
    if (verb === "inspect") return this.#inspect(keys[0]!);
    if (!claim) return this.#release(question);
    if (verb !== "vote") return this.#claim(question, verb === "repair", "keep");
    return keys.length === 1 ? this.#voteForOne(question) : this.#voteForAll(question);
  }

  #release({ keys, words }: Question): Promise<Outcome | Fault | undefined> {
    const run = (session: Session) => deleteIfEqual(session, keys, words[0]!);
    return this.#post<Outcome | Fault | undefined>({ purpose: "release", words, isExclusive: true, run });
  }

  #inspect(resource: string): Promise<KeyState | Fault> {
    const run = async (session: Session): Promise<KeyState> => {
      const replies = [session.send("GET", [resource]), session.send("PTTL", [resource])];
      const [value, pttl] = await Promise.all(replies);
      const { owner, remaining: left } = foundKeyIn(value, pttl);
      return { is: "state", owner: owner && masked(owner), remaining: left, queueLength: 0 };
    };
    return this.#post<KeyState>({ purpose: "request", words: [], isExclusive: false, run });
  }

  async tryNeeds(key: string): Promise<ReadonlyArray<PromiseSettledResult<unknown>>> {
    const send = (session: Session, words: string): Promise<unknown> => {
      const [command = "", ...args] = words.split(",");
      return session.send(command, /MULTI|EXEC|DISCARD/.test(command) ? [] : [key, ...args]);
    };
    const needed = [...rights.locks, ...rights.transactions];
    const run = (session: Session) => Promise.allSettled(needed.map((words) => send(session, words)));
    const replies = await this.#post({ purpose: "request", words: [], isExclusive: true, run });
    return "is" in replies ? [] : replies;
  }

  async #voteForAll(question: Question): Promise<Answer> {
    const answer = await this.#claim(question, true, "request");
    // The owner changed too often to be named.
    return answer ?? { is: "no", resource: question.keys[0]!, owner: undefined, remaining: 0 };
  }

  onMove(listener: (why: string) => void): void {
    this.#connection.onMove?.(listener);
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

  onReady(listener: () => void): () => void {
    return this.#connection.onReady(listener);
  }

  leave(): void {
    this.#connection.leave?.();
    this.#connection = new ClosedConnection(this.#connection);
    this.#queue = new CommandQueue(this.#connection);
  }

  async close(): Promise<void> {
    // A pending release takes two round trips, and possibly waits for its turn.
    await this.#queue.answered;
    await this.#connection.close();
  }

  disconnect(): void {
    this.#connection.disconnect();
  }

  async #voteForOne(question: Question): Promise<Answer> {
    const [resource, token] = [question.keys[0]!, question.words[0]!];
    const ttl = Math.ceil(question.ttl);
    let session: Session | undefined;
    const answer = await this.#post<Answer | undefined>({
      purpose: "request",
      claim: question.claim,
      words: question.words,
      isExclusive: false,
      run: async (its) => {
        session = its;
        const reply = await its.send("SET", [resource, token, "NX", "PX", ttl]);
        if (reply === "OK") return { is: "yes", remaining: ttl };
        if (reply !== null) throw new UnexpectedReply(reply);
        return undefined;
      },
    });
    if (answer) return answer;
    // The SET was refused: asks for the owner and the remaining time. The owner may be this very token, if an
    // earlier reply was lost (PROTOCOL 2.7). The question sets no key, so it may be asked even after the
    // round was rolled back. If it cannot be asked on the same connection, the key may hold the token.
    if (!session?.isCurrent) return failed(this.name, this.#connection.notReadyReason, false, question.words);
    const owner = questionOf({ ...question, verb: "extend", claim: { abandoned: false } });
    return (await this.#claim(owner, false, "request", true)) ?? this.#contended();
  }

  /** Like the claim script: all keys or none; `undefined` if they changed during each transaction. */
  #claim(question: Question, create: boolean, purpose: Purpose, first = false): Promise<Answer | undefined> {
    const { keys, words, ttl, claim } = question;
    const run = async (session: Session): Promise<Answer | undefined> => {
      for (let count = 0; count < maxTransactions; count += 1) {
        const transaction = await Transaction.begin(session, keys);
        const refusal = refusalIn(transaction.found, question, create);
        // The rollback is already waiting behind this call, perhaps for long: the master may have hung.
        if (refusal || claim?.abandoned) {
          transaction.discard();
          return refusal ? typed(session, refusal) : abandoned(this.name);
        }
        const writes = transaction.found.map((found, index) =>
          writeFor(keys[index]!, found, question, create),
        );
        const replies = await transaction.commit(writes);
        if (replies?.every((reply, index) => isDone(writes[index]!, reply))) {
          const remaining = transaction.found.map((found, index) =>
            remainingOf(writes[index]!, replies[index], found, ttl),
          );
          return { is: "yes", remaining: Math.min(...remaining) };
        }
      }
      return undefined;
    };
    const call = { purpose, claim, words, isExclusive: true, run };
    return this.#post<Answer | undefined>(call, first);
  }

  #post<A>(call: Call<A>, first?: boolean): Promise<A | Fault> {
    const before = this.#latestRefusal;
    const since = (): Fault | undefined => (this.#latestRefusal === before ? undefined : this.#latestRefusal);
    const refusal = call.claim && (() => this.#refusal ?? since());
    return this.#queue.post({ ...call, refusal }, first);
  }

  /** No key was set or deleted. */
  #contended(): Fault {
    const detail = `others changed the keys during each of ${maxTransactions} transactions`;
    return fault(this.name, "CONTENDED", detail, false);
  }
}

/**
 * Deletes the keys that hold the token; `undefined` if they changed during each transaction.
 *
 * Newer masters can compare and delete in one command: `DELEX key IFEQ token` (Redis 8.4 and later), `DELIFEQ
 * key token` (Valkey 9 and later). One such command for each key would take one round trip, without
 * WATCH and its waiting. (Neither matches the tokens of earlier rounds; those come from queue entries, with
 * scripts.)
 */
async function deleteIfEqual(
  session: Session,
  keys: readonly string[],
  token: string,
): Promise<Outcome | Fault | undefined> {
  for (let count = 0; count < maxTransactions; count += 1) {
    const transaction = await Transaction.begin(session, keys);
    const mine = keys.filter((_, index) => {
      const { owner } = transaction.found[index]!;
      return owner !== undefined && isMine(owner, token);
    });
    if (mine.length === 0) {
      transaction.discard();
      return { is: "missed" };
    }
    const replies = await transaction.commit(mine.map((key) => ["DEL", [key]]));
    // A key that expired meanwhile is not deleted: before Redis 6.0.9, expiry does not abort EXEC.
    const gone = replies?.filter((reply, index) => isDone(["DEL", [mine[index]!]], reply));
    if (gone) return { is: gone.length === keys.length ? "done" : "missed" };
  }
  return undefined;
}

/** The first key that refuses. */
function refusalIn(found: readonly FoundKey[], { keys, words }: Question, create: boolean): No | undefined {
  for (const [index, { owner, remaining: left }] of found.entries()) {
    if (owner === undefined ? create : isMine(owner, words[0]!)) continue;
    return { is: "no", resource: keys[index]!, owner: owner && masked(owner), remaining: left };
  }
  return undefined;
}

/** As in the scripts, a key that holds no string is told by its type, if the user may ask for it. */
async function typed(session: Session, refusal: No): Promise<No> {
  if (refusal.owner !== otherType) return refusal;
  const type = await session.send("TYPE", [refusal.resource]).catch(() => undefined);
  return typeof type === "string" ? { ...refusal, owner: `(${type})` } : refusal;
}

/**
 * The command that makes a key hold the token for at least `ttl` ms, without ever shortening it
 * (PROTOCOL 2.11).
 *
 * No other client can have set the key when this executes. It can have expired: that aborts EXEC only from
 * Redis 6.2 on, and before 6.0.9 not even if the key is deleted. So only a claim that may create sets it
 * again; otherwise the reply shows whether the key existed.
 */
function writeFor(
  key: string,
  { owner, remaining: left }: FoundKey,
  { words, ttl }: Question,
  create: boolean,
): Command {
  const token = words[0]!;
  // A master that is out of memory allows PEXPIRE, so it does not lose locks.
  if (owner === token) return left >= ttl ? ["PTTL", [key]] : ["PEXPIRE", [key, Math.ceil(ttl)]];
  const expiry = Number.isFinite(left) ? ["PX", Math.ceil(Math.max(left, ttl))] : [];
  return ["SET", [key, token, ...(create ? [] : ["XX"]), ...expiry]];
}

/** Whether the key existed. Throws if the reply is not a valid answer to the command. */
function isDone([name]: Command, reply: unknown): boolean {
  if (name === "SET") {
    if (reply !== "OK" && reply !== null) throw new UnexpectedReply(reply);
    return reply === "OK";
  }
  const value = name === "PTTL" ? timeLeftIn(reply) : countIn(reply, 1);
  if (value === undefined) throw new UnexpectedReply(reply);
  return name === "PTTL" ? reply !== -2 : value === 1;
}

/** The remaining time of the key from EXEC on, ms. */
function remainingOf([name]: Command, reply: unknown, { remaining: left }: FoundKey, ttl: number): number {
  return name === "PTTL" ? timeLeftIn(reply)! : Math.max(left, ttl);
}

const tokenOfRound = /^(.+)\.(\d+)$/s;

/** As in the scripts: exactly the token, or that of an earlier round of the same waiter (PROTOCOL 2.13). */
function isMine(owner: string, token: string): boolean {
  if (owner === token) return true;
  const [, waiter, round] = tokenOfRound.exec(token) ?? [];
  const [, other, earlier] = tokenOfRound.exec(owner) ?? [];
  return waiter !== undefined && waiter === other && Number(earlier) < Number(round);
}
