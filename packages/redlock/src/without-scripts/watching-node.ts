import { abandoned, failed, fault } from "../protocol/faults.ts";
import type {
  Answer,
  Claim,
  Fault,
  Holding,
  LockNode,
  MasterServer,
  No,
  OnAnswer,
  ReleaseAnswer,
} from "../protocol/node.ts";
import { WeakListeners } from "../protocol/weak-listeners.ts";
import { type Call, CommandQueue } from "../redis/command-queue.ts";
import type { Purpose } from "../redis/commands.ts";
import type { Connection } from "../redis/connection.ts";
import { countIn, timeLeftIn } from "../redis/reply-numbers.ts";
import { Session } from "../redis/session.ts";
import {
  type Command,
  discard,
  type FoundKey,
  foundKeyIn,
  Transaction,
  UnexpectedReply,
} from "../redis/transaction.ts";
import { whyReserved } from "../settings/resources.ts";

/** So often is a transaction made in which a key was touched meanwhile. Each takes two round trips. */
const mostTransactions = 5;

/**
 * A master that is asked without scripts, for servers and users to whom they are forbidden. What a script does in one
 * step here takes a {@link Transaction}, that is two round trips, and one has to wait for the other: on one connection
 * there can be no two of them. A vote for one resource is the plain SET in both modes.
 *
 * The same keys and tokens as with scripts, so both exclude each other. There is no queue: waiting is asking again.
 */
export class WatchingNode implements LockNode {
  readonly name: string;
  readonly client: object;
  readonly #connection: Connection;
  readonly #line: CommandQueue;
  readonly #moves: WeakListeners<[why: string, old: LockNode]> = new WeakListeners();
  /** Only kept, for as long as there is this node. */
  readonly #follow: (why: string, old: Connection) => void;

  /** While the server votes through another node. */
  #refusal: Fault | undefined;

  /** Nothing else may use the connection but by `line`, also where several nodes do. */
  constructor(connection: Connection, line: CommandQueue) {
    this.#connection = connection;
    this.#line = line;
    this.name = connection.name;
    this.client = connection.client;
    this.#follow = (why, old) => {
      const left = lineOfLeft(old);
      line.moveReleasesTo(left, why);
      this.#moves.call(why, new WatchingNode(old, left));
    };
    connection.onMove?.(this.#follow);
  }

  get drainedAt(): number {
    return this.#line.drainedAt;
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.#connection.refuses?.(resources) ?? whyReserved(resources);
  }

  vote(claim: Claim, settle: OnAnswer<Answer>): void {
    const [resource, ...more] = claim.resources;
    const answer = more.length === 0 ? this.#voteForOne(claim, resource!) : this.#voteForAll(claim);
    void answer.then(settle);
  }

  extend(claim: Claim, repair: boolean, settle: OnAnswer<Answer>): void {
    void this.#claim(claim, repair, "keep").then((answer) => settle(answer ?? this.#contended()));
  }

  release(resources: readonly string[], tokens: readonly string[], settle: OnAnswer<ReleaseAnswer>): void {
    const run = (session: Session) => deleteIfEqual(session, resources, tokens);
    const answer = this.#post<ReleaseAnswer | undefined>({
      purpose: "release",
      tokens,
      isExclusive: true,
      run,
    });
    void answer.then((released) => settle(released ?? this.#contended()));
  }

  inspect(resource: string, settle: OnAnswer<Holding>): void {
    const run = async (session: Session): Promise<Holding> => {
      const replies = [session.send("GET", [resource]), session.send("PTTL", [resource])];
      const [value, pttl] = await Promise.all(replies);
      const { owner, remaining: left } = foundKeyIn(value, pttl);
      return { owner, remaining: left, queueLength: 0 };
    };
    void this.#post<Holding>({ purpose: "request", tokens: [], isExclusive: false, run }).then(settle);
  }

  async #voteForAll(claim: Claim): Promise<Answer> {
    const answer = await this.#claim(claim, true, "request");
    // Rivals came and went so fast that none of them can be named.
    return answer ?? { vote: "no", resource: claim.resources[0]!, owner: undefined, remaining: 0 };
  }

  onMove(listener: (why: string, old: LockNode) => void): void {
    this.#moves.add(listener);
  }

  get server(): MasterServer {
    return {
      ids: this.#connection.serverIds ?? [],
      refuseVotes: (refusal) => {
        this.#refusal = refusal;
      },
    };
  }

  onReady(listener: () => void): () => void {
    return this.#connection.onReady(listener);
  }

  async close(): Promise<void> {
    // A release that was called takes two round trips, and perhaps its turn.
    await this.#line.answered;
    await this.#connection.close();
  }

  disconnect(): void {
    this.#connection.disconnect();
  }

  async #voteForOne(claim: Claim, resource: string): Promise<Answer> {
    const { token } = claim;
    const ttl = Math.ceil(claim.ttl);
    let session: Session | undefined;
    const answer = await this.#post<Answer | undefined>({
      purpose: "request",
      claim,
      tokens: [token],
      isExclusive: false,
      run: async (its) => {
        session = its;
        const reply = await its.send("SET", [resource, token, "NX", "PX", ttl]);
        if (reply === "OK") return { vote: "yes", remaining: ttl };
        if (reply !== null) throw new UnexpectedReply(reply);
        return undefined;
      },
    });
    if (answer) return answer;
    // Taken. By whom, and for how long? It may be my own token, where a reply was lost (PROTOCOL 2.7). The question
    // sets nothing, so it may be asked even if the round has been rolled back meanwhile. Where it cannot be asked there, the
    // SET was sent all the same.
    if (!session?.isCurrent) return failed(this.name, this.#connection.notReadyReason, false, [token]);
    const question = { resources: [resource], token, ttl, abandoned: false };
    return (await this.#claim(question, false, "request", true)) ?? this.#contended();
  }

  /** As the claim script: all of the keys, or none; `undefined` where they were touched each time. */
  #claim(claim: Claim, create: boolean, purpose: Purpose, first = false): Promise<Answer | undefined> {
    const run = async (session: Session): Promise<Answer | undefined> => {
      for (let count = 0; count < mostTransactions; count += 1) {
        const transaction = await Transaction.begin(session, claim.resources);
        const refusal = refusalIn(transaction.found, claim, create);
        // Its roll-back waits behind this already, and perhaps has for long: the master may have hung.
        if (refusal || claim.abandoned) {
          transaction.discard();
          return refusal ?? abandoned(this.name);
        }
        const writes = transaction.found.map((found, index) =>
          writeFor(claim.resources[index]!, found, claim, create),
        );
        const replies = await transaction.commit(writes);
        if (replies?.every((reply, index) => isDone(writes[index]!, reply))) {
          const lives = transaction.found.map((found, index) =>
            remainingOf(writes[index]!, replies[index], found, claim.ttl),
          );
          return { vote: "yes", remaining: Math.min(...lives) };
        }
      }
      return undefined;
    };
    const call = { purpose, claim, tokens: [claim.token], isExclusive: true, run };
    return this.#post<Answer | undefined>(call, first);
  }

  #post<A>(call: Call<A>, first?: boolean): Promise<A | Fault> {
    const refusal = call.claim && (() => this.#refusal);
    return this.#line.post({ ...call, refusal }, first);
  }

  /** Nothing was set or deleted. */
  #contended(): Fault {
    const detail = `others changed the keys during each of ${mostTransactions} transactions`;
    return fault(this.name, "CONTENDED", detail, false);
  }
}

/** One for each connection to a database that was left, however many nodes were moved away from it. */
const linesOfLeft = new WeakMap<Connection, CommandQueue>();

function lineOfLeft(old: Connection): CommandQueue {
  let line = linesOfLeft.get(old);
  if (!line) {
    // What was in the middle of a transaction there does not go on. Before anything else is sent, and once: a second one
    // would open the transaction of whoever has begun one there meanwhile.
    discard(new Session(old));
    line = new CommandQueue(old);
    linesOfLeft.set(old, line);
  }
  return line;
}

/**
 * Deletes the keys that hold one of the tokens; `undefined` where they were touched each time.
 *
 * The place for masters that compare and delete in one command: `DELEX key IFEQ token` (Redis 8.4 and later), `DELIFEQ
 * key token` (Valkey 9 and later). One of them for each key and token would be one round trip, without WATCH and so
 * without waiting for others. (Neither finds the tokens of earlier rounds; those come from waiters, with scripts.)
 */
async function deleteIfEqual(
  session: Session,
  keys: readonly string[],
  tokens: readonly string[],
): Promise<ReleaseAnswer | undefined> {
  for (let count = 0; count < mostTransactions; count += 1) {
    const transaction = await Transaction.begin(session, keys);
    const mine = keys.filter((_, index) => {
      const { owner } = transaction.found[index]!;
      return owner !== undefined && tokens.some((token) => isMine(owner, token));
    });
    if (mine.length === 0) {
      transaction.discard();
      return { vote: "no" };
    }
    const replies = await transaction.commit(mine.map((key) => ["DEL", [key]]));
    // One that expired meanwhile is deleted by nobody: before Redis 6.0.9 that is not to be touched.
    const gone = replies?.filter((reply, index) => isDone(["DEL", [mine[index]!]], reply));
    if (gone) return { vote: gone.length === keys.length ? "yes" : "no" };
  }
  return undefined;
}

/** The first key that refuses. */
function refusalIn(found: readonly FoundKey[], { resources, token }: Claim, create: boolean): No | undefined {
  for (const [index, { owner, remaining: left }] of found.entries()) {
    if (owner === undefined ? create : isMine(owner, token)) continue;
    return { vote: "no", resource: resources[index]!, owner, remaining: left };
  }
  return undefined;
}

/**
 * What makes a key that does not refuse hold the token for `ttl` ms, or longer: it is never shortened (PROTOCOL 2.11).
 *
 * Nobody else can have set it when this is executed. It can have expired, which makes EXEC do nothing only from Redis
 * 6.2 on, and before 6.0.9 not even where it is deleted. So only a claim that may create sets it again, and otherwise
 * the reply tells whether there was a key.
 */
function writeFor(
  key: string,
  { owner, remaining: left }: FoundKey,
  { token, ttl }: Claim,
  create: boolean,
): Command {
  // (A master that is out of memory lets PEXPIRE through: it takes no lock away.)
  if (owner === token) return left >= ttl ? ["PTTL", [key]] : ["PEXPIRE", [key, Math.ceil(ttl)]];
  const expiry = Number.isFinite(left) ? ["PX", Math.ceil(Math.max(left, ttl))] : [];
  return ["SET", [key, token, ...(create ? [] : ["XX"]), ...expiry]];
}

/** Whether there was a key to write to. Throws what is no reply to the command. */
function isDone([name]: Command, reply: unknown): boolean {
  if (name === "SET") {
    if (reply !== "OK" && reply !== null) throw new UnexpectedReply(reply);
    return reply === "OK";
  }
  const told = name === "PTTL" ? timeLeftIn(reply) : countIn(reply, 1);
  if (told === undefined) throw new UnexpectedReply(reply);
  return name === "PTTL" ? reply !== -2 : told === 1;
}

/** How long the key lives from EXEC on, ms. */
function remainingOf([name]: Command, reply: unknown, { remaining: left }: FoundKey, ttl: number): number {
  return name === "PTTL" ? timeLeftIn(reply)! : Math.max(left, ttl);
}

const tokenOfRound = /^(.+)\.(\d+)$/s;

/** As in the scripts: the very token, or that of an earlier round of the same waiter (PROTOCOL 2.13). */
function isMine(owner: string, token: string): boolean {
  if (owner === token) return true;
  const [, waiter, round] = tokenOfRound.exec(token) ?? [];
  const [, other, earlier] = tokenOfRound.exec(owner) ?? [];
  return waiter !== undefined && waiter === other && Number(earlier) < Number(round);
}
