import { type Call, CallLine } from "./call-line.ts";
import type { Connection } from "./connection.ts";
import { abandoned, unsent } from "./fault.ts";
import type { Answer, Claim, Fault, Holding, LockNode, ReleaseAnswer, Settle } from "./node.ts";
import { readWriteScripts } from "./read-write-scripts.ts";
import type { ScriptedNode } from "./scripted-node.ts";
import type { Script } from "./scripts.ts";
import { UnexpectedReply } from "./transaction.ts";

const prefix = "quorlock:rw:";

/** What is locked for reading or writing, as a resource each: the key that holds the claim. */
export function resourcesOf(name: string): { readonly read: string; readonly write: string } {
  return { read: `${prefix}{${name}}:readers`, write: `${prefix}{${name}}:write` };
}

/** What {@link resourcesOf} was told. */
function nameOf(resource: string): string {
  return resource.slice(prefix.length + 1, resource.lastIndexOf("}"));
}

/** All keys of the name that `resource` is of, in one hash slot. */
function keysOf(resource: string): readonly [writer: string, readers: string, intent: string] {
  const { read, write } = resourcesOf(nameOf(resource));
  return [write, read, `${prefix}{${nameOf(resource)}}:intent`];
}

function isForWriting(resource: string): boolean {
  return resource.endsWith(":write");
}

/** The writers of one client that wait: for how long they keep new readers away wherever readers refuse them. */
export interface WaitingWriters {
  /** The same for all of them. */
  readonly name: string;
  /** ms; 0 where nobody waits for `resource`. */
  patienceFor(resource: string): number;
}

/** So many wait for a master that does not answer; more would only pile up. */
const mostUnanswered = 4096;
const overflow = `${mostUnanswered} commands are unanswered`;

/**
 * A master that lets many read or one write: a resource is one of {@link resourcesOf}, and to the steps of the
 * protocol the claim of a reader is a vote like any other. One resource at a time.
 *
 * Over the connection of the other locks, so in the order of the calls, but each call is a command of its own.
 */
export class ReadWriteNode implements LockNode {
  readonly name: string;
  readonly client: object;
  readonly #node: ScriptedNode;
  readonly #connection: Connection;
  readonly #line: CallLine;
  readonly #waiting: WaitingWriters;
  /** What this master keeps new readers away from, as far as it has answered. */
  readonly #awaited = new Set<string>();
  #unanswered = 0;

  constructor(node: ScriptedNode, waiting: WaitingWriters) {
    this.name = node.name;
    this.client = node.client;
    this.#node = node;
    this.#connection = node.connection;
    this.#line = new CallLine(node.connection);
    this.#waiting = waiting;
  }

  /** Nobody else names its keys: they are made of the lock's name. */
  refuses(): undefined {
    return undefined;
  }

  vote(claim: Claim, settle: Settle<Answer>): void {
    void this.#claim(claim, "vote").then(settle);
  }

  extend(claim: Claim, repair: boolean, settle: Settle<Answer>): void {
    void this.#claim(claim, repair ? "repair" : "renew").then(settle);
  }

  release([resource]: readonly string[], tokens: readonly string[], settle: Settle<ReleaseAnswer>): void {
    void this.#run(readWriteScripts.release, resource!, tokens, tokens, releasedIn).then(settle);
  }

  /** As `withdraw`, but only where the master is known to keep readers away. */
  async withdrawWhereAwaited(resource: string): Promise<void> {
    if (this.#awaited.has(resource)) await this.withdraw(resource);
  }

  /** No reader is kept away any more for those who waited to write. */
  async withdraw(resource: string): Promise<void> {
    this.#awaited.delete(resource);
    await this.#run(readWriteScripts.withdraw, resource, [this.#waiting.name], [], (reply) => reply);
  }

  inspect(resource: string, settle: Settle<Holding>): void {
    this.#node.inspect(resource, settle);
  }

  onReady(listener: () => void): () => void {
    return this.#node.onReady(listener);
  }

  /** The connection is ended by the Redlock that it was made for. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): void {}

  #claim(claim: Claim, how: "vote" | "repair" | "renew"): Promise<Answer> {
    const resource = claim.resources[0]!;
    const ttl = Math.ceil(claim.ttl);
    const args = [claim.token, ttl, how];
    const read = (reply: unknown): Answer => answerIn(reply, resource, ttl);
    return isForWriting(resource)
      ? this.#write(claim, resource, args, read)
      : this.#run(readWriteScripts.read, resource, args, [claim.token], read, claim);
  }

  async #write(
    claim: Claim,
    resource: string,
    args: readonly (string | number)[],
    read: (reply: unknown) => Answer,
  ): Promise<Answer> {
    const patience = Math.ceil(this.#waiting.patienceFor(resource));
    const all = [...args, patience, this.#waiting.name];
    const answer = await this.#run(readWriteScripts.write, resource, all, [claim.token], read, claim);
    if (patience > 0 && answer.vote === "no") {
      this.#awaited.add(resource);
      // Nobody waits any more who would withdraw it.
      if (this.#waiting.patienceFor(resource) === 0) void this.withdraw(resource);
    }
    return answer;
  }

  async #run<A>(
    script: Script,
    resource: string,
    args: readonly (string | number)[],
    tokens: readonly string[],
    read: (reply: unknown) => A,
    claim?: Claim,
  ): Promise<A | Fault> {
    if (this.#unanswered >= mostUnanswered) return unsent(this.name, overflow);
    this.#unanswered += 1;
    const keys = keysOf(resource);
    const run = (): Promise<A | Fault> =>
      this.#evaluate(script, [keys.length, ...keys, ...args], read, claim);
    const call: Call<A | Fault> = { claim, tokens, isAlone: false, run };
    const answer = await this.#line.post(call);
    this.#unanswered -= 1;
    return answer;
  }

  /**
   * By its digest, and by its text where the master does not know it. The text goes out behind whatever was sent
   * meanwhile, a roll-back perhaps: so never for a claim that was given up.
   */
  async #evaluate<A>(
    { sha1, source }: Script,
    args: readonly (string | number)[],
    read: (reply: unknown) => A,
    claim: Claim | undefined,
  ): Promise<A | Fault> {
    try {
      return read(await this.#connection.send("EVALSHA", [sha1, ...args]));
    } catch (error) {
      const isUnknown = this.#connection.isReply(error) && error.message.startsWith("NOSCRIPT");
      if (!isUnknown) throw error;
      if (claim?.abandoned) return abandoned(this.name);
      return read(await this.#connection.send("EVAL", [source, ...args]));
    }
  }
}

function releasedIn(reply: unknown): ReleaseAnswer {
  if (typeof reply !== "number") throw new UnexpectedReply(reply);
  return { vote: reply > 0 ? "yes" : "no" };
}

function answerIn(reply: unknown, resource: string, ttl: number): Answer {
  // A yes means at least the ttl (PROTOCOL 14.2).
  if (typeof reply === "number" && reply >= ttl) return { vote: "yes", remaining: reply };
  if (!Array.isArray(reply)) throw new UnexpectedReply(reply);
  const [owner, pttl] = reply as unknown[];
  if (typeof pttl !== "number") throw new UnexpectedReply(reply);
  const remaining = pttl === -1 ? Number.POSITIVE_INFINITY : Math.max(0, pttl);
  // Told to the caller: as it was named.
  return {
    vote: "no",
    resource: nameOf(resource),
    owner: typeof owner === "string" ? owner : undefined,
    remaining,
  };
}
