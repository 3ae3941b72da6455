import type { Answer, Claim, KeyState, LockNode, OnAnswer, OnVote, ReleaseAnswer } from "../protocol/node.ts";
import type { RedisNode } from "../redis/redis-node.ts";
import { claimedTimeIn, countIn, timeLeftIn } from "../redis/reply-numbers.ts";
import { UnexpectedReply } from "../redis/transaction.ts";
import { readWritePrefix, userName } from "../resource-names.ts";
import { readWriteScripts } from "./read-write-scripts.ts";

/** The resources of readers and of writers: the keys that hold their claims. */
export function resourcesOf(name: string): { readonly read: string; readonly write: string } {
  return { read: `${readWritePrefix}{${name}}:readers`, write: `${readWritePrefix}{${name}}:write` };
}

/** All keys of the lock that `resource` belongs to, in one hash slot. */
function keysOf(resource: string): readonly [writer: string, readers: string, intent: string] {
  const { read, write } = resourcesOf(userName(resource));
  return [write, read, `${readWritePrefix}{${userName(resource)}}:intent`];
}

/** The owner in a refusal of a writer by readers. */
const byReaders = "readers";

function isForWriting(resource: string): boolean {
  return resource.endsWith(":write");
}

/**
 * The waiting writers of one client. They keep new readers away from a master that refuses them because of
 * readers.
 */
export interface WaitingWriters {
  /** The name of the client, the same for all its writers. */
  readonly name: string;
  /** For how long a refusal by readers keeps further readers out, ms; 0 if no writer of `resource` waits. */
  announcementFor(resource: string): number;
  onRefusedByReaders(resource: string): void;
}

/**
 * A master with readers-writer locks: a resource is one of {@link resourcesOf}, and a reader's claim is a
 * vote like any other for the protocol. One resource at a time.
 *
 * Uses the connection of the other locks, so the calls stay in order, but each call is a command of its own.
 */
export class ReadWriteNode implements LockNode {
  readonly name: string;
  readonly client: object;
  readonly #node: RedisNode;
  readonly #waiting: WaitingWriters;
  /** The resources for which this master is known to keep new readers away. */
  readonly #recordedIntents = new Set<string>();
  /** Registered by weak reference: this field keeps it alive as long as the node. */
  #onDatabaseLeft: ((why: string, old: LockNode) => void) | undefined;

  constructor(node: RedisNode, waiting: WaitingWriters) {
    this.name = node.name;
    this.client = node.client;
    this.#node = node;
    this.#waiting = waiting;
  }

  /** The keys are made from the lock's name, so users cannot name reserved ones. */
  refuses(): undefined {
    return undefined;
  }

  get drainedAt(): number {
    return this.#node.drainedAt;
  }

  vote(claim: Claim, onVote: OnVote): void {
    this.#claim(claim, "vote", onVote);
  }

  extend(claim: Claim, repair: boolean, onVote: OnVote): void {
    this.#claim(claim, repair ? "repair" : "renew", onVote);
  }

  release(resources: readonly string[], tokens: readonly string[], onAnswer: OnAnswer<ReleaseAnswer>): void {
    const keys = keysOf(resources[0]!);
    const call = {
      purpose: "release" as const,
      script: readWriteScripts.release,
      keys,
      args: tokens,
      tokens,
      read: releasedIn,
    };
    void this.#node.runScript<ReleaseAnswer>(call).then(onAnswer);
  }

  /** Like `withdraw`, but only if the master is known to keep readers away. */
  async withdrawIfRecorded(resource: string): Promise<void> {
    if (this.#recordedIntents.has(resource)) await this.withdraw(resource);
  }

  /**
   * The same, for the renewal of that precedence between two attempts. Its purpose is that of `withdraw`, so neither
   * overtakes the other.
   */
  async renewIfRecorded(resource: string): Promise<void> {
    if (!this.#recordedIntents.has(resource)) return;
    const call = {
      purpose: "release" as const,
      script: readWriteScripts.write,
      keys: keysOf(resource),
      args: ["", 0, "wait", Math.ceil(this.#waiting.announcementFor(resource)), this.#waiting.name],
      tokens: [],
      read: () => 0,
    };
    await this.#node.runScript<number>(call);
  }

  /** Ends the precedence of waiting writers: new readers are admitted again. */
  async withdraw(resource: string): Promise<void> {
    this.#recordedIntents.delete(resource);
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

  inspect(resource: string, onAnswer: OnAnswer<KeyState>): void {
    this.#node.inspect(resource, onAnswer);
  }

  onMove(listener: (why: string, old: LockNode) => void): void {
    this.#onDatabaseLeft = (why, old) => listener(why, new ReadWriteNode(old as RedisNode, this.#waiting));
    this.#node.onMove(this.#onDatabaseLeft);
  }

  onReady(listener: () => void): () => void {
    return this.#node.onReady(listener);
  }

  /** The connection is closed by the Redlock that owns it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): void {}

  #claim(claim: Claim, how: "vote" | "repair" | "renew", onVote: OnVote): void {
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
      this.#node.claimWith({ ...call, script: readWriteScripts.read, args }, onVote);
      return;
    }
    const announced = Math.ceil(this.#waiting.announcementFor(resource));
    const read = (reply: unknown): Answer => {
      const answer = call.read(reply);
      if (announced > 0 && answer.vote === "no" && answer.owner === byReaders) this.#recordIntent(resource);
      return answer;
    };
    const writerArgs = [...args, announced, this.#waiting.name];
    this.#node.claimWith({ ...call, read, script: readWriteScripts.write, args: writerArgs }, onVote);
  }

  /** Records that the master keeps new readers away. */
  #recordIntent(resource: string): void {
    this.#recordedIntents.add(resource);
    // No writer waits any more that would withdraw it later.
    if (this.#waiting.announcementFor(resource) === 0) void this.withdraw(resource);
    else this.#waiting.onRefusedByReaders(resource);
  }
}

function withdrawnIn(reply: unknown): number {
  const withdrawn = countIn(reply);
  if (withdrawn === undefined) throw new UnexpectedReply(reply);
  return withdrawn;
}

function releasedIn(reply: unknown): ReleaseAnswer {
  const released = countIn(reply);
  if (released === undefined) throw new UnexpectedReply(reply);
  return { vote: released > 0 ? "yes" : "no" };
}

function answerIn(reply: unknown, resource: string, ttl: number): Answer {
  const granted = claimedTimeIn(reply, ttl);
  if (granted !== undefined) return { vote: "yes", remaining: granted };
  if (!Array.isArray(reply)) throw new UnexpectedReply(reply);
  const [owner, pttl] = reply as unknown[];
  const remaining = timeLeftIn(pttl);
  if (remaining === undefined) throw new UnexpectedReply(reply);
  // The name that the caller knows.
  return {
    vote: "no",
    resource: userName(resource),
    owner: typeof owner === "string" ? owner : undefined,
    remaining,
  };
}
