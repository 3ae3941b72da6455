import type { Answer, AnyAnswer, LockNode, Operation, ScriptFamily } from "../protocol/node.ts";
import { operationOf } from "../protocol/operation.ts";
import type { Script } from "../redis/lua/scripts.ts";
import type { RedisNode } from "../redis/redis-node.ts";
import { claimedTimeIn, countIn, timeLeftIn } from "../redis/reply-numbers.ts";
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

/** The scripts of readers. */
const reading: ScriptFamily = {
  command: (operation) => commandOf(operation, readWriteScripts.read, []),
  answerIn,
};

/** The scripts of writers of the client `name`; a refusal by readers keeps further readers out for `announced` ms. */
function writing(announced: number, name: string): ScriptFamily {
  return {
    command: (operation) => commandOf(operation, readWriteScripts.write, [announced, name]),
    answerIn,
  };
}

/** A release of the precedence of the waiting writers of the client that is its value; with a ttl, its renewal instead. */
const precedence: ScriptFamily = {
  command({ keys, values, ttl }) {
    const script = ttl > 0 ? readWriteScripts.write : readWriteScripts.withdraw;
    const args = ttl > 0 ? ["", 0, "wait", ttl, values[0]!] : values;
    return { script, args: [3, ...keysOf(keys[0]!), ...args] };
  },
  answerIn: () => ({ vote: "yes" }),
};

function commandOf(
  { kind, keys, values, ttl }: Operation,
  script: Script,
  more: readonly (string | number)[],
): ReturnType<ScriptFamily["command"]> {
  const ours = [3, ...keysOf(keys[0]!)];
  if (kind === "release") return { script: readWriteScripts.release, args: [...ours, ...values] };
  const how = kind === "extend" ? "renew" : kind;
  return { script, args: [...ours, values[0]!, Math.ceil(ttl), how, ...more] };
}

function answerIn(operation: Operation, reply: unknown): AnyAnswer | undefined {
  if (operation.kind !== "release") return claimAnswerIn(operation, reply);
  const released = countIn(reply);
  return released === undefined ? undefined : { vote: released > 0 ? "yes" : "no" };
}

function claimAnswerIn({ keys, ttl }: Operation, reply: unknown): Answer | undefined {
  const granted = claimedTimeIn(reply, Math.ceil(ttl));
  if (granted !== undefined) return { vote: "yes", remaining: granted };
  if (!Array.isArray(reply)) return undefined;
  const [owner, pttl] = reply as unknown[];
  const remaining = timeLeftIn(pttl);
  if (remaining === undefined) return undefined;
  // The name that the caller knows.
  const resource = userName(keys[0]!);
  return { vote: "no", resource, owner: typeof owner === "string" ? owner : undefined, remaining };
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

  ask(operation: Operation, index: number): void {
    const { kind, keys, claim, onAnswer } = operation;
    const [resource] = keys as readonly [string];
    if (kind === "inspect") this.#node.ask(operation, index);
    else if (!claim || !isForWriting(resource))
      this.#node.ask(operationOf({ ...operation, family: reading }, onAnswer), index);
    else this.#claimForWriting(operation, resource, index);
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
    if (this.#recordedIntents.has(resource))
      await this.#announce(resource, Math.ceil(this.#waiting.announcementFor(resource)));
  }

  /** Ends the precedence of waiting writers: new readers are admitted again. */
  async withdraw(resource: string): Promise<void> {
    this.#recordedIntents.delete(resource);
    await this.#announce(resource, 0);
  }

  #announce(resource: string, ttl: number): Promise<unknown> {
    const values = [this.#waiting.name];
    const asked = {
      kind: "release",
      keys: [resource],
      values,
      ttl,
      claim: undefined,
      family: precedence,
    } as const;
    return new Promise((resolve) => this.#node.ask(operationOf(asked, resolve), 0));
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

  #claimForWriting(operation: Operation, resource: string, index: number): void {
    const announced = Math.ceil(this.#waiting.announcementFor(resource));
    const onVote = (_: number, answer: AnyAnswer): void => {
      const vote = "reading" in answer ? answer.vote : answer;
      if (announced > 0 && "owner" in vote && vote.owner === byReaders) this.#recordIntent(resource);
      operation.onAnswer(index, answer);
    };
    const family = writing(announced, this.#waiting.name);
    this.#node.ask(operationOf({ ...operation, family }, onVote), index);
  }

  /** Records that the master keeps new readers away. */
  #recordIntent(resource: string): void {
    this.#recordedIntents.add(resource);
    // No writer waits any more that would withdraw it later.
    if (this.#waiting.announcementFor(resource) === 0) void this.withdraw(resource);
    else this.#waiting.onRefusedByReaders(resource);
  }
}
