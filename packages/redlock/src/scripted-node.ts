import type { Connection } from "./connection.ts";
import { abandoned, failed, unexpected, unsent } from "./fault.ts";
import type { Answer, Claim, Fault, Holding, LockNode, ReleaseAnswer } from "./node.ts";
import { lifetime, type Operation } from "./operation.ts";
import { Outbox } from "./outbox.ts";

export interface ScriptedNodeOptions {
  /** Whether what comes while the master has not answered yet is sent together. Default true. */
  readonly groupCommit?: boolean;
}

/** A master reached by plain commands and Lua scripts: what the wire carries, and what its replies mean. */
export class ScriptedNode implements LockNode {
  readonly name: string;
  readonly client: object;
  readonly #connection: Connection;
  readonly #groupCommit: boolean;
  readonly #outbox: Outbox;
  /** On a Cluster, where one connection leads to many masters: by hash slot, as long as something is under way. */
  readonly #outboxes = new Map<number, Outbox>();

  constructor(connection: Connection, { groupCommit = true }: ScriptedNodeOptions = {}) {
    this.#connection = connection;
    this.#groupCommit = groupCommit;
    this.#outbox = new Outbox(connection, groupCommit);
    this.name = connection.name;
    this.client = connection.client;
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.#connection.refuses?.(resources);
  }

  vote(claim: Claim): Promise<Answer> {
    return this.#ask("v", claim);
  }

  extend(claim: Claim, repair: boolean): Promise<Answer> {
    return this.#ask(repair ? "p" : "e", claim);
  }

  release(resources: readonly string[], tokens: readonly string[]): Promise<ReleaseAnswer> {
    return this.#post<ReleaseAnswer>({ kind: "r", keys: resources, tokens, ttl: 0, claim: undefined });
  }

  async inspect(resource: string): Promise<Holding | Fault> {
    const obstacle = this.#connection.isReady ? undefined : await this.#connected();
    if (obstacle !== undefined) return unsent(this.name, obstacle);
    try {
      const replies = [this.#connection.send("GET", [resource]), this.#connection.send("PTTL", [resource])];
      const [owner, left] = await Promise.all(replies);
      if (typeof left !== "number") return unexpected(this.name, left);
      return { owner: typeof owner === "string" ? owner : undefined, remaining: lifetime(left) };
    } catch (error) {
      return failed(this.name, error, this.#connection.isReply(error), []);
    }
  }

  onReady(listener: () => void): () => void {
    return this.#connection.onReady(listener);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  disconnect(): void {
    this.#connection.disconnect();
  }

  #ask(kind: Operation["kind"], claim: Claim): Promise<Answer> {
    const { resources, token, ttl } = claim;
    return this.#post<Answer>({ kind, keys: resources, tokens: [token], ttl, claim });
  }

  #post<A extends Answer | ReleaseAnswer>(operation: Omit<Operation, "settle">): Promise<A | Fault> {
    return new Promise((resolve) => {
      const { kind, keys, tokens, ttl, claim } = operation;
      // An operation is answered in its own kind.
      const whole = { kind, keys, tokens, ttl, claim, settle: resolve as Operation["settle"] };
      if (this.#connection.isReady) this.#outboxFor(keys[0]!).post(whole);
      else void this.#postWhenConnected(whole);
    });
  }

  /** Sends when the first connection stands, or not at all. */
  async #postWhenConnected(operation: Operation): Promise<void> {
    const obstacle = await this.#connected();
    if (obstacle !== undefined) operation.settle(unsent(this.name, obstacle));
    else if (operation.claim?.abandoned) operation.settle(abandoned(this.name));
    else this.#outboxFor(operation.keys[0]!).post(operation);
  }

  /** What is in the way, once the first connection stands or has failed. */
  async #connected(): Promise<string | undefined> {
    await this.#connection.connectFirst();
    return this.#connection.isReady ? undefined : this.#connection.obstacle;
  }

  #outboxFor(key: string): Outbox {
    const slot = this.#connection.slotOf?.(key);
    if (slot === undefined) return this.#outbox;
    let outbox = this.#outboxes.get(slot);
    if (!outbox) {
      outbox = new Outbox(this.#connection, this.#groupCommit, () => this.#outboxes.delete(slot));
      this.#outboxes.set(slot, outbox);
    }
    return outbox;
  }
}
