import type { Answer, Claim, Holding, LockNode, OnAnswer, OnVote, ReleaseAnswer } from "../protocol/node.ts";
import type { RedisNode } from "../redis/redis-node.ts";
import { claimedTimeIn, countIn, timeLeftIn } from "../redis/reply-numbers.ts";
import { UnexpectedReply } from "../redis/transaction.ts";
import { readWritePrefix, userName } from "../resource-names.ts";
import { readWriteScripts } from "./read-write-scripts.ts";

/** What is locked for reading or writing, as a resource each: the key that holds the claim. */
export function resourcesOf(name: string): { readonly read: string; readonly write: string } {
  return { read: `${readWritePrefix}{${name}}:readers`, write: `${readWritePrefix}{${name}}:write` };
}

/** All keys of the name that `resource` is of, in one hash slot. */
function keysOf(resource: string): readonly [writer: string, readers: string, intent: string] {
  const { read, write } = resourcesOf(userName(resource));
  return [write, read, `${readWritePrefix}{${userName(resource)}}:intent`];
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

/**
 * A master that lets many read or one write: a resource is one of {@link resourcesOf}, and to the steps of the
 * protocol the claim of a reader is a vote like any other. One resource at a time.
 *
 * Over the connection of the other locks, so in the order of the calls, but each call is a command of its own.
 */
export class ReadWriteNode implements LockNode {
  readonly name: string;
  readonly client: object;
  readonly #node: RedisNode;
  readonly #waiting: WaitingWriters;
  /** What this master keeps new readers away from, as far as it has answered. */
  readonly #awaited = new Set<string>();
  /** Only kept, for as long as there is this node. */
  #follow: ((why: string, old: LockNode) => void) | undefined;

  constructor(node: RedisNode, waiting: WaitingWriters) {
    this.name = node.name;
    this.client = node.client;
    this.#node = node;
    this.#waiting = waiting;
  }

  /** Nobody else names its keys: they are made of the lock's name. */
  refuses(): undefined {
    return undefined;
  }

  get drainedAt(): number {
    return this.#node.drainedAt;
  }

  vote(claim: Claim, settle: OnVote): void {
    this.#claim(claim, "vote", settle);
  }

  extend(claim: Claim, repair: boolean, settle: OnVote): void {
    this.#claim(claim, repair ? "repair" : "renew", settle);
  }

  release(resources: readonly string[], tokens: readonly string[], settle: OnAnswer<ReleaseAnswer>): void {
    const keys = keysOf(resources[0]!);
    const call = {
      purpose: "release" as const,
      script: readWriteScripts.release,
      keys,
      args: tokens,
      tokens,
      read: releasedIn,
    };
    void this.#node.runScript<ReleaseAnswer>(call).then(settle);
  }

  /** As `withdraw`, but only where the master is known to keep readers away. */
  async withdrawWhereAwaited(resource: string): Promise<void> {
    if (this.#awaited.has(resource)) await this.withdraw(resource);
  }

  /** No reader is kept away any more for those who waited to write. */
  async withdraw(resource: string): Promise<void> {
    this.#awaited.delete(resource);
    const keys = keysOf(resource);
    const args = [this.#waiting.name];
    const call = {
      purpose: "release" as const,
      script: readWriteScripts.withdraw,
      keys,
      args,
      tokens: [],
      read: withdrawnIn,
    };
    await this.#node.runScript<number>(call);
  }

  inspect(resource: string, settle: OnAnswer<Holding>): void {
    this.#node.inspect(resource, settle);
  }

  onMove(listener: (why: string, old: LockNode) => void): void {
    this.#follow = (why, old) => listener(why, new ReadWriteNode(old as RedisNode, this.#waiting));
    this.#node.onMove(this.#follow);
  }

  onReady(listener: () => void): () => void {
    return this.#node.onReady(listener);
  }

  /** The connection is ended by the Redlock that it was made for. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): void {}

  #claim(claim: Claim, how: "vote" | "repair" | "renew", settle: OnVote): void {
    const { resources, token } = claim;
    const resource = resources[0]!;
    const ttl = Math.ceil(claim.ttl);
    const args = [token, ttl, how];
    const call = {
      purpose: how === "vote" ? ("request" as const) : ("keep" as const),
      keys: keysOf(resource),
      tokens: [token],
      claim,
      read: (reply: unknown): Answer => answerIn(reply, resource, ttl),
    };
    if (!isForWriting(resource)) {
      this.#node.claimWith({ ...call, script: readWriteScripts.read, args }, settle);
      return;
    }
    const patience = Math.ceil(this.#waiting.patienceFor(resource));
    const read = (reply: unknown): Answer => {
      const answer = call.read(reply);
      if (patience > 0 && answer.vote === "no") this.#await(resource);
      return answer;
    };
    const all = [...args, patience, this.#waiting.name];
    this.#node.claimWith({ ...call, read, script: readWriteScripts.write, args: all }, settle);
  }

  /** The master keeps new readers away. */
  #await(resource: string): void {
    this.#awaited.add(resource);
    // Nobody waits any more who would withdraw it.
    if (this.#waiting.patienceFor(resource) === 0) void this.withdraw(resource);
  }
}

function withdrawnIn(reply: unknown): number {
  const withdrawn = countIn(reply);
  if (withdrawn === undefined) throw new UnexpectedReply(reply);
  return withdrawn;
}

function releasedIn(reply: unknown): ReleaseAnswer {
  const given = countIn(reply);
  if (given === undefined) throw new UnexpectedReply(reply);
  return { vote: given > 0 ? "yes" : "no" };
}

function answerIn(reply: unknown, resource: string, ttl: number): Answer {
  const granted = claimedTimeIn(reply, ttl);
  if (granted !== undefined) return { vote: "yes", remaining: granted };
  if (!Array.isArray(reply)) throw new UnexpectedReply(reply);
  const [owner, pttl] = reply as unknown[];
  const remaining = timeLeftIn(pttl);
  if (remaining === undefined) throw new UnexpectedReply(reply);
  // Told to the caller: as it was named.
  return {
    vote: "no",
    resource: userName(resource),
    owner: typeof owner === "string" ? owner : undefined,
    remaining,
  };
}
