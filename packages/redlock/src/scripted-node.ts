import type { Connection } from "./connection.ts";
import { NodeError } from "./errors.ts";
import type { Answer, Claim, Fault, Holding, LockNode, ReleaseAnswer } from "./node.ts";
import { claimScript, releaseScript, type Script } from "./scripts.ts";

type Reply = readonly unknown[];

/** A master reached by plain commands and Lua scripts: what the wire carries, and what its replies mean. */
export class ScriptedNode implements LockNode {
  readonly name: string;
  readonly client: object;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.name = connection.name;
    this.client = connection.client;
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.#connection.refuses?.(resources);
  }

  vote(claim: Claim): Promise<Answer> {
    return this.#sending(claim, () =>
      claim.resources.length === 1 ? this.#set(claim) : this.#claim(claim, true),
    );
  }

  extend(claim: Claim, repair: boolean): Promise<Answer> {
    return this.#sending(claim, () => this.#claim(claim, repair));
  }

  release(resources: readonly string[], tokens: readonly string[]): Promise<ReleaseAnswer> {
    return this.#sending(undefined, () =>
      this.#run(undefined, releaseScript, resources, tokens).then(
        (deleted): ReleaseAnswer =>
          typeof deleted === "number"
            ? { vote: deleted === resources.length ? "yes" : "no" }
            : this.#unexpected(deleted),
        (error) => this.#failed(error),
      ),
    );
  }

  inspect(resource: string): Promise<Holding | Fault> {
    return this.#sending(undefined, async () => {
      try {
        const owner = this.#connection.send("GET", [resource]);
        const ttl = this.#connection.send("PTTL", [resource]);
        const [value, left] = await Promise.all([owner, ttl]);
        if (typeof left !== "number") return this.#unexpected(left);
        return { owner: typeof value === "string" ? value : undefined, remaining: lifetime(left) };
      } catch (error) {
        return this.#failed(error);
      }
    });
  }

  onReady(listener: () => void): void {
    this.#connection.onReady(listener);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  disconnect(): void {
    this.#connection.disconnect();
  }

  /** Sends now, or when the first connection stands, or not at all. */
  #sending<A>(claim: Claim | undefined, send: () => Promise<A>): Promise<A | Fault> {
    const obstacle = this.#connection.obstacle();
    if (obstacle === undefined) return send();
    if (obstacle instanceof NodeError) return Promise.resolve({ vote: "none", error: obstacle, sent: false });
    return obstacle.then((): A | Fault | Promise<A> => {
      const still = this.#connection.obstacle();
      if (still instanceof NodeError) return { vote: "none", error: still, sent: false };
      if (still !== undefined || claim?.abandoned) {
        const error = new NodeError(this.name, "UNREACHABLE", "the first connection came too late");
        return { vote: "none", error, sent: false };
      }
      return send();
    });
  }

  /** A vote for one resource: the bare command, so that a lone lock costs no more than that. */
  #set(claim: Claim): Promise<Answer> {
    const { resources, token, ttl } = claim;
    return this.#connection.send("SET", [resources[0]!, token, "NX", "PX", ttl]).then(
      (reply): Answer | Promise<Answer> => {
        if (reply === "OK") return { vote: "yes", remaining: ttl };
        if (reply !== null) return this.#unexpected(reply);
        // Taken. By whom, and for how long? It may be my own token, where a reply was lost (PROTOCOL 2.7). The
        // question sets nothing, so it may be asked even if the round has been rolled back meanwhile.
        return this.#claim(claim, false);
      },
      (error) => this.#failed(error),
    );
  }

  #claim(claim: Claim, create: boolean): Promise<Answer> {
    const args = [claim.token, claim.ttl, create ? 1 : 0];
    return this.#run(claim, claimScript, claim.resources, args).then(
      (reply) => this.#answer(claim, reply),
      (error) => this.#failed(error),
    );
  }

  #answer(claim: Claim, reply: unknown): Answer {
    if (!Array.isArray(reply)) return this.#unexpected(reply);
    const [index, second, third] = reply as Reply;
    if (index === 0 && typeof second === "number") return { vote: "yes", remaining: lifetime(second) };
    const resource = typeof index === "number" ? claim.resources[index - 1] : undefined;
    if (resource === undefined || typeof third !== "number") return this.#unexpected(reply);
    const owner = typeof second === "string" ? second : undefined;
    return { vote: "no", resource, owner, remaining: lifetime(third) };
  }

  /**
   * Runs a script by its digest, and by its text where the master does not know it. The text goes out behind
   * whatever was sent meanwhile, a roll-back perhaps: so never for a claim that was given up. A release may.
   */
  async #run(
    claim: Claim | undefined,
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    try {
      return await this.#connection.send("EVALSHA", [script.sha1, keys.length, ...keys, ...args]);
    } catch (error) {
      const unknown = this.#connection.isReply(error) && error.message.startsWith("NOSCRIPT");
      if (!unknown || claim?.abandoned || this.#connection.obstacle() !== undefined) throw error;
      return await this.#connection.send("EVAL", [script.source, keys.length, ...keys, ...args]);
    }
  }

  #failed(error: unknown): Fault {
    if (error instanceof NodeError) return { vote: "none", error, sent: true };
    const message = error instanceof Error ? error.message : String(error);
    const reason = this.#connection.isReply(error) ? reasonIn(message) : "UNREACHABLE";
    return { vote: "none", error: new NodeError(this.name, reason, message, error), sent: true };
  }

  #unexpected(reply: unknown): Fault {
    // The reply may quote a token, so only its kind is told.
    const kind = Array.isArray(reply) ? "an array" : `a ${typeof reply}`;
    const error = new NodeError(this.name, "UNEXPECTED_REPLY", `${kind} that is no answer to the command`);
    return { vote: "none", error, sent: true };
  }
}

/** PTTL in words: -2 is no key, -1 a key without expiry. */
function lifetime(pttl: number): number {
  if (pttl === -1) return Number.POSITIVE_INFINITY;
  return Math.max(0, pttl);
}

/** The word a Redis error begins with. Before version 7 a script's error is quoted inside an ERR of its own. */
function reasonIn(message: string): string {
  const quoted = /@user_script: ?\d+: -?([A-Z]{2,})\b/.exec(message)?.[1];
  return quoted ?? /^[A-Z]+/.exec(message)?.[0] ?? "ERR";
}
