import { abandoned } from "../protocol/faults.ts";
import type { Claim, Fault } from "../protocol/node.ts";
import type { Runtime } from "../time/runtime.ts";
import { CommandQueue } from "./command-queue.ts";
import type { Purpose } from "./commands.ts";
import type { Connection } from "./connection.ts";
import type { Script } from "./lua/scripts.ts";
import type { Session } from "./session.ts";

/** A script of another primitive. */
export interface ScriptCall<A> {
  readonly purpose: Purpose;
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  /** What is in `args`, and must not be told. */
  readonly tokens: readonly string[];
  /** Whom it is for: what was given up is not sent any more. */
  readonly claim?: Claim;
  /** Throws what is no answer. */
  readonly read: (reply: unknown) => A;
}

/** Scripts of other primitives over the connection of the locks, each a command of its own, in the order of the calls. */
export class ScriptCalls {
  readonly #connection: Connection;
  readonly #refusal: () => Fault | undefined;
  readonly #line: CommandQueue;

  /** `refusal`: what claims are answered instead of being sent, if anything. */
  constructor(connection: Connection, runtime: Pick<Runtime, "monotonic">, refusal: () => Fault | undefined) {
    this.#connection = connection;
    this.#refusal = refusal;
    this.#line = new CommandQueue(connection, runtime);
  }

  /** As in {@link LockNode.drainedAt}. */
  get drainedAt(): number {
    return this.#line.drainedAt;
  }

  /** `sent`: called behind each command that is sent for it. */
  run<A>(script: ScriptCall<A>, sent: () => void = () => {}): Promise<A | Fault> {
    const { purpose, claim, tokens } = script;
    const run = (session: Session): Promise<A | Fault> => this.#evaluate(session, script, sent);
    const refusal = claim && this.#refusal;
    return this.#line.post<A | Fault>({ purpose, claim, refusal, tokens, isAlone: false, run });
  }

  /**
   * By its digest, and by its text where the master does not know it. The text goes out behind whatever was sent
   * meanwhile, a roll-back perhaps: so never for a claim that was given up, and never on another connection.
   */
  async #evaluate<A>(
    session: Session,
    { script, keys, args, claim, read }: ScriptCall<A>,
    sent: () => void,
  ): Promise<A | Fault> {
    const send = (command: string, text: string): Promise<unknown> => {
      const reply = session.send(command, [text, keys.length, ...keys, ...args]);
      sent();
      return reply;
    };
    try {
      return read(await send("EVALSHA", script.sha1));
    } catch (error) {
      const isUnknown = session.isReply(error) && error.message.startsWith("NOSCRIPT");
      if (!isUnknown) throw error;
      if (claim?.abandoned) return abandoned(this.#connection.name);
      return read(await send("EVAL", script.source));
    }
  }
}
