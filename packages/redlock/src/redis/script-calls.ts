import { abandoned } from "../protocol/faults.ts";
import type { Claim, Fault, Purpose } from "../protocol/node.ts";
import type { Runtime } from "../time/runtime.ts";
import { CommandQueue } from "./command-queue.ts";
import type { Connection } from "./connection.ts";
import type { Script } from "./lua/scripts.ts";
import type { Session } from "./session.ts";

/** A script call of another primitive. */
export interface ScriptCall<A> {
  readonly purpose: Purpose;
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  /** The tokens among `args`: secret, and removed from error messages. */
  readonly tokens: readonly string[];
  /** The claim that the call belongs to: once abandoned, the call is no longer sent. */
  readonly claim?: Claim;
  /** Throws if the reply is not a valid answer. */
  readonly read: (reply: unknown) => A;
}

/**
 * Runs scripts of other primitives on the connection of the locks, one command per call, in the order of the
 * calls.
 */
export class ScriptCalls {
  readonly #connection: Connection;
  readonly #refusal: () => Fault | undefined;
  readonly #queue: CommandQueue;

  /** `refusal`: the answer to give to claims instead of sending them, if there is one. */
  constructor(connection: Connection, runtime: Pick<Runtime, "monotonic">, refusal: () => Fault | undefined) {
    this.#connection = connection;
    this.#refusal = refusal;
    this.#queue = new CommandQueue(connection, runtime);
  }

  /** As in {@link LockNode.drainedAt}. */
  get drainedAt(): number {
    return this.#queue.drainedAt;
  }

  /** `onSent`: called after each command that is sent for the call. */
  run<A>(script: ScriptCall<A>, onSent: () => void = () => {}): Promise<A | Fault> {
    const { purpose, claim, tokens } = script;
    const run = (session: Session): Promise<A | Fault> => this.#evaluate(session, script, onSent);
    const refusal = claim && this.#refusal;
    return this.#queue.post<A | Fault>({ purpose, claim, refusal, tokens, isExclusive: false, run });
  }

  /**
   * Calls the script by its digest, and by its text if the master does not know the digest. The text goes out
   * behind later commands, possibly behind a rollback, so never for an abandoned claim and never on another
   * connection.
   */
  async #evaluate<A>(
    session: Session,
    { script, keys, args, claim, read }: ScriptCall<A>,
    onSent: () => void,
  ): Promise<A | Fault> {
    const send = (command: string, text: string): Promise<unknown> => {
      const reply = session.send(command, [text, keys.length, ...keys, ...args]);
      onSent();
      return reply;
    };
    try {
      return read(await send("EVALSHA", script.sha1));
    } catch (error) {
      const isUnknown = session.isErrorReply(error) && error.message.startsWith("NOSCRIPT");
      if (!isUnknown) throw error;
      if (claim?.abandoned) return abandoned(this.#connection.name);
      return read(await send("EVAL", script.source));
    }
  }
}
