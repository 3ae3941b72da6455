import { NotSent } from "../adapters/link.ts";
import { abandoned, failed, fault, unexpected, unsent } from "../protocol/faults.ts";
import type { Answer, Fault, KeyState, No, Outcome, Question } from "../protocol/node.ts";
import { questionOf } from "../protocol/question.ts";
import { rights } from "../protocol/rights.ts";
import { masked } from "../protocol/token.ts";
import { type Asker, type Batch, type Posted, settle, type Wire } from "../redis/batch.ts";
import type { Connection } from "../redis/connection.ts";
import { Master, type MasterOptions } from "../redis/master.ts";
import { countIn, timeLeftIn, UnexpectedReply } from "../redis/reply-numbers.ts";
import {
  type Command,
  type FoundKey,
  foundKeyIn,
  maxTransactions,
  otherType,
  Steps,
  transact,
} from "./transaction.ts";

/**
 * The wire of a master that is used without scripts, for servers and users that may not run them. The equivalent of a script
 * is a transaction of two round trips, one at a time on each connection: WATCH and MULTI belong to the whole
 * connection. A vote for one resource is the plain SET in both modes.
 *
 * The keys and tokens are the same as with scripts, so both kinds of clients exclude each other. There is no
 * queue: waiting means retrying.
 */
const transactionWire: Wire = {
  isExclusive: ({ question: { verb, keys } }) =>
    verb !== "inspect" && !(verb === "vote" && keys.length === 1),
  // With more unanswered questions than this, a late answer is explained by those in front of it.
  patience: 512,
  carry(batch) {
    batch.begin();
    void carry(batch, batch.posted[0]!).then(() => batch.end());
  },
};

/** A master that is used without scripts. */
export class MasterWithoutScripts extends Master {
  constructor(connection: Connection, options?: MasterOptions) {
    super(connection, transactionWire, options);
  }

  /**
   * Executes what claims, extensions and releases execute, on a key that nobody locks, all at once. It waits its turn like a
   * question: within the transaction of another it would end that one. Without replies if it was not sent.
   */
  tryNeeds(key: string): Promise<ReadonlyArray<PromiseSettledResult<unknown>>> {
    const question = questionOf({ verb: "inspect", keys: [key], words: [] });
    return new Promise((resolve) => {
      let replies: ReadonlyArray<PromiseSettledResult<unknown>> = [];
      const run: Trial["run"] = async (steps) => {
        const needs = [...rights.locks, ...rights.transactions].map((words) => words.split(","));
        const sent = needs.map(([command = "", ...args]) =>
          steps.send(command, /MULTI|EXEC|DISCARD/.test(command) ? [] : [key, ...args]),
        );
        replies = await Promise.allSettled(sent);
        return { is: "done" };
      };
      const asker: Trial = { isAlone: true, run, settled: () => resolve(replies) };
      const sink = { answered: () => {} };
      this.post({ question, place: 0, sink, purpose: "request", readsTime: false, asker });
    });
  }
}

/** The one that asks for a trial gets its replies. */
interface Trial extends Asker {
  run(steps: Steps): Promise<Outcome>;
}

async function carry(batch: Batch, posted: Posted): Promise<void> {
  const steps = new Steps(batch);
  const answer = await answerTo(steps, posted).catch((error: unknown) => faultOf(error, steps, posted));
  if (answer) settle(posted, answer);
}

function faultOf(error: unknown, { batch, hasWritten }: Steps, { question: { words } }: Posted): Fault {
  const { connection } = batch;
  // The steps before the unsent one only read, or belong to a transaction that did not commit.
  if (error instanceof NotSent) return { ...unsent(connection.name, error.message), sent: hasWritten };
  if (error instanceof UnexpectedReply) return unexpected(connection.name, error.reply);
  const isReply = connection.isErrorReply(error);
  const fault = failed(connection.name, error, isReply, words);
  if (isReply) connection.onErrorReply?.(fault.error.error);
  return fault;
}

/** `undefined` if another question goes on with it. */
async function answerTo(steps: Steps, posted: Posted): Promise<Answer | undefined> {
  const { question, asker } = posted;
  const { verb, keys } = question;
  const { name } = steps.batch.connection;
  if ("run" in asker) return (asker as Trial).run(steps);
  if (verb === "inspect") return inspect(steps, keys[0]!);
  if (verb === "release") return (await deleteIfEqual(steps, question)) ?? contended(name);
  if (verb === "vote" && keys.length === 1) return voteForOne(steps, posted);
  const answer = await claim(steps, question, verb === "vote" || verb === "repair");
  if (answer) return answer;
  // The owner changed too often to be named.
  return verb === "vote" ? { is: "no", resource: keys[0]!, owner: undefined, remaining: 0 } : contended(name);
}

/** No key was set or deleted. */
function contended(name: string): Fault {
  const detail = `others changed the keys during each of ${maxTransactions} transactions`;
  return fault(name, "CONTENDED", detail, false);
}

async function inspect(steps: Steps, resource: string): Promise<KeyState> {
  const replies = [steps.send("GET", [resource]), steps.send("PTTL", [resource])];
  const [value, pttl] = await Promise.all(replies);
  const { owner, remaining } = foundKeyIn(value, pttl);
  return { is: "state", owner: owner && masked(owner), remaining, queueLength: 0 };
}

/**
 * If the SET is refused, asks for the owner and the remaining time. The owner may be this very token, if an
 * earlier reply was lost (PROTOCOL 2.7). The question sets no key, so it may be asked even after the
 * round was rolled back. If it cannot be asked on the same connection, the key may hold the token.
 */
async function voteForOne(steps: Steps, posted: Posted): Promise<Answer | undefined> {
  const { question, sink } = posted;
  const { batch } = steps;
  const ttl = Math.ceil(question.ttl);
  const reply = await steps.send("SET", [question.keys[0]!, question.words[0]!, "NX", "PX", ttl]);
  if (reply === "OK") return { is: "yes", remaining: ttl };
  if (reply !== null) throw new UnexpectedReply(reply);
  const { name, notReadyReason } = batch.connection;
  if (!batch.isCurrent) return failed(name, notReadyReason, false, question.words);
  const owner = questionOf({ ...question, verb: "extend", claim: undefined });
  const answered: typeof sink.answered = (place, answer) =>
    sink.answered(place, answer.is === "fault" ? { ...answer, sent: true } : answer);
  batch.owner.post({ ...posted, question: owner, purpose: "keep", sink: { answered } });
  return undefined;
}

/** Like the claim script: all keys or none; `undefined` if they changed during each transaction. */
async function claim(steps: Steps, question: Question, create: boolean): Promise<Answer | undefined> {
  const { keys, ttl } = question;
  const answer = await transact<Answer>(
    steps,
    keys,
    (found) => {
      const refusal = refusalIn(found, question, create);
      if (refusal) return refusal;
      // The rollback is already waiting behind this call, perhaps for long: the master may have hung.
      if (question.claim?.abandoned) return abandoned(steps.batch.connection.name);
      return found.map((key, index) => writeFor(keys[index]!, key, question, create));
    },
    (replies, writes, found) => {
      if (!replies.every((reply, index) => isDone(writes[index]!, reply))) return undefined;
      const remaining = found.map((key, index) => remainingOf(writes[index]!, replies[index], key, ttl));
      return { is: "yes", remaining: Math.min(...remaining) };
    },
  );
  return answer?.is === "no" ? typed(steps, answer) : answer;
}

/**
 * Deletes the keys that hold the token; `undefined` if they changed during each transaction.
 *
 * Newer masters can compare and delete in one command: `DELEX key IFEQ token` (Redis 8.4 and later), `DELIFEQ
 * key token` (Valkey 9 and later). One such command for each key would take one round trip, without
 * WATCH and its waiting. (Neither matches the tokens of earlier rounds; those come from queue entries, with
 * scripts.)
 */
function deleteIfEqual(steps: Steps, { keys, words }: Question): Promise<Outcome | undefined> {
  return transact<Outcome>(
    steps,
    keys,
    (found) => {
      const mine = keys.filter((_, index) => isHeldBy(found[index]!, words[0]!));
      return mine.length === 0 ? { is: "missed" } : mine.map((key) => ["DEL", [key]]);
    },
    (replies, writes) => {
      // A key that expired meanwhile is not deleted: before Redis 6.0.9, expiry does not abort EXEC.
      const gone = replies.filter((reply, index) => isDone(writes[index]!, reply));
      return { is: gone.length === keys.length ? "done" : "missed" };
    },
  );
}

/** The first key that refuses. */
function refusalIn(found: readonly FoundKey[], { keys, words }: Question, create: boolean): No | undefined {
  const index = found.findIndex((key) => !(key.owner === undefined ? create : isHeldBy(key, words[0]!)));
  if (index === -1) return undefined;
  const { owner, remaining } = found[index]!;
  return { is: "no", resource: keys[index]!, owner: owner && masked(owner), remaining };
}

/** As in the scripts, a key that holds no string is told by its type, if the user may ask for it. */
async function typed(steps: Steps, refusal: No): Promise<No> {
  if (refusal.owner !== otherType) return refusal;
  const type = await steps.send("TYPE", [refusal.resource]).catch(() => undefined);
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
export function writeFor(
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
export function isHeldBy({ owner }: FoundKey, token: string): boolean {
  if (owner === undefined || owner === token) return owner === token;
  const [, waiter, round] = tokenOfRound.exec(token) ?? [];
  const [, other, earlier] = tokenOfRound.exec(owner) ?? [];
  return waiter !== undefined && waiter === other && Number(earlier) < Number(round);
}
