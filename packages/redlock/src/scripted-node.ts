import type { Connection } from "./connection.ts";
import { fault } from "./fault.ts";
import type { Answer, Claim, Fault, Holding, LockNode, ReleaseAnswer } from "./node.ts";
import { claimScript, releaseScript, type Script } from "./scripts.ts";

type Reply = readonly unknown[];

/** Of a master that does not answer so much is waited for; what it is sent beyond that would only pile up. */
const mostUnanswered = 4096;
const silent = `${mostUnanswered} commands are unanswered`;

/** A master reached by plain commands and Lua scripts: what the wire carries, and what its replies mean. */
export class ScriptedNode implements LockNode {
  readonly name: string;
  readonly client: object;
  readonly #connection: Connection;
  #unanswered = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.name = connection.name;
    this.client = connection.client;
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.#connection.refuses?.(resources);
  }

  vote(claim: Claim): Promise<Answer> {
    return this.#isOpen ? this.#vote(claim) : this.#wait(claim, () => this.#vote(claim));
  }

  extend(claim: Claim, repair: boolean): Promise<Answer> {
    return this.#isOpen ? this.#claim(claim, repair) : this.#wait(claim, () => this.#claim(claim, repair));
  }

  release(resources: readonly string[], tokens: readonly string[]): Promise<ReleaseAnswer> {
    const send = () =>
      this.#run(undefined, releaseScript, resources, tokens, (deleted): ReleaseAnswer => {
        if (typeof deleted !== "number") return this.#unexpected(deleted);
        return { vote: deleted === resources.length ? "yes" : "no" };
      });
    return this.#isOpen ? send() : this.#wait(undefined, send);
  }

  inspect(resource: string): Promise<Holding | Fault> {
    const send = async (): Promise<Holding | Fault> => {
      try {
        const replies = [this.#connection.send("GET", [resource]), this.#connection.send("PTTL", [resource])];
        const [owner, left] = await Promise.all(replies);
        if (typeof left !== "number") return this.#unexpected(left);
        return { owner: typeof owner === "string" ? owner : undefined, remaining: lifetime(left) };
      } catch (error) {
        return this.#failed(error, []);
      }
    };
    return this.#isOpen ? send() : this.#wait(undefined, send);
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

  /** Whether a command can be sent at once, and is likely to be answered. */
  get #isOpen(): boolean {
    return this.#connection.isReady && this.#unanswered < mostUnanswered;
  }

  /** Sends when the first connection stands, or not at all. */
  #wait<A>(claim: Claim | undefined, send: () => Promise<A>): Promise<A | Fault> {
    if (this.#connection.isReady) return Promise.resolve(this.#unsent(silent));
    const first = this.#connection.connectFirst();
    if (!first) return Promise.resolve(this.#unsent(this.#connection.obstacle));
    return first.then((): A | Fault | Promise<A> => {
      if (!this.#connection.isReady) return this.#unsent(this.#connection.obstacle);
      return claim?.abandoned ? this.#abandoned() : send();
    });
  }

  #abandoned(): Fault {
    return fault(this.name, "ABANDONED", "it was given up before it could be sent", false);
  }

  #unsent(why: string): Fault {
    return fault(this.name, "UNREACHABLE", why, false);
  }

  #vote(claim: Claim): Promise<Answer> {
    const { resources, token, ttl } = claim;
    if (resources.length > 1) return this.#claim(claim, true);
    // For one resource the bare command, so that a lone lock costs no more than that.
    this.#unanswered += 1;
    return this.#connection.send("SET", [resources[0]!, token, "NX", "PX", ttl]).then(
      (reply) => {
        this.#unanswered -= 1;
        if (reply === "OK") return { vote: "yes", remaining: ttl };
        if (reply !== null) return this.#unexpected(reply);
        // Taken. By whom, and for how long? It may be my own token, where a reply was lost (PROTOCOL 2.7). The
        // question sets nothing, so it may be asked even if the round has been rolled back meanwhile.
        return this.#claim(claim, false);
      },
      (error) => {
        this.#unanswered -= 1;
        return this.#failed(error, [token]);
      },
    );
  }

  #claim(claim: Claim, create: boolean): Promise<Answer> {
    const args = [claim.token, claim.ttl, create ? 1 : 0];
    return this.#run(claim, claimScript, claim.resources, args, (reply) => this.#answer(claim, reply));
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
  #run<A>(
    claim: Claim | undefined,
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    read: (reply: unknown) => A,
  ): Promise<A | Fault> {
    const operands = [keys.length, ...keys, ...args];
    this.#unanswered += 1;
    return this.#connection.send("EVALSHA", [script.sha1, ...operands]).then(
      (reply) => {
        this.#unanswered -= 1;
        return read(reply);
      },
      (error) => {
        this.#unanswered -= 1;
        const unknown = this.#connection.isReply(error) && error.message.startsWith("NOSCRIPT");
        const tokens = claim ? [claim.token] : args;
        if (!unknown || !this.#connection.isReady) return this.#failed(error, tokens);
        if (claim?.abandoned) return this.#abandoned();
        const again = this.#connection.send("EVAL", [script.source, ...operands]);
        return again.then(read, (failure) => this.#failed(failure, tokens));
      },
    );
  }

  /** `tokens`: what was sent, and must not be told: Redis quotes the arguments of a command that it does not know. */
  #failed(error: unknown, tokens: readonly (string | number)[]): Fault {
    const told = error instanceof Error ? error.message : String(error);
    const message = without(tokens, told);
    const reason = this.#connection.isReply(error) ? reasonIn(told) : "UNREACHABLE";
    // Not the error itself: ioredis hangs the command on it, and with that the token.
    const cause = new Error(message);
    cause.name = error instanceof Error ? error.name : "Error";
    return fault(this.name, reason, message, true, cause);
  }

  #unexpected(reply: unknown): Fault {
    // The reply may quote a token, so only its kind is told.
    const kind = Array.isArray(reply) ? "an array" : `a ${typeof reply}`;
    return fault(this.name, "UNEXPECTED_REPLY", `${kind} that is no answer to the command`, true);
  }
}

/** A token shorter than this guards nothing, and would be found in any word. */
const leastToken = 8;

function without(tokens: readonly (string | number)[], text: string): string {
  const long = tokens.map(String).filter((token) => token.length >= leastToken);
  return long.reduce((rest, token) => rest.replaceAll(token, "(token)"), text);
}

/** PTTL in words: -2 is no key, -1 a key without expiry. */
function lifetime(pttl: number): number {
  if (pttl === -1) return Number.POSITIVE_INFINITY;
  return Math.max(0, pttl);
}

/**
 * The word a Redis error begins with. Inside a script it is not at the beginning: before version 7 an ERR quotes
 * the error, and from then on a missing permission is an ERR in words of its own.
 */
function reasonIn(message: string): string {
  if (message.includes("user executing the script can't")) return "NOPERM";
  const quoted = /@user_script: ?\d+: -?([A-Z]{2,})\b/.exec(message)?.[1];
  return quoted ?? /^[A-Z]+/.exec(message)?.[0] ?? "ERR";
}
