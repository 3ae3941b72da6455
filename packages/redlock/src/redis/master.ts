import { fault, unsent } from "../protocol/faults.ts";
import type { Answer, Fault, LockNode, MasterServer, Question, Sink } from "../protocol/node.ts";
import type { Reading } from "../protocol/reading.ts";
import { systemRuntime } from "../time/system.ts";
import { type Asker, isAbandoned, type Posted, settle, type Wire } from "./batch.ts";
import { verbs } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { MasterClock } from "./master-clock.ts";
import { defaultSize, Window, type WindowRuntime } from "./window.ts";

export interface MasterOptions {
  /** Default: the system clock and timers. */
  readonly runtime?: WindowRuntime | undefined;
  /**
   * The maximum number of questions in flight, and the same again of those that keep a lease. Default 512.
   */
  readonly window?: number | undefined;
}

/** A master by a connection, whatever the wire that its questions go by. */
export class Master implements LockNode, Asker {
  readonly name: string;
  readonly client: object;
  protected readonly connection: Connection;
  /** Whether each question is sent in a command of its own. */
  readonly isAlone: boolean;
  protected readonly window: Window;
  /** Set while the server votes through another node. */
  #refusal: Fault | undefined;
  #latestRefusal: Fault | undefined;
  /** The connection has been left: a late rollback would open it again. */
  #isLeft = false;

  constructor(
    connection: Connection,
    wire: Wire,
    { runtime = systemRuntime, window = defaultSize }: MasterOptions = {},
    isAlone = true,
  ) {
    this.connection = connection;
    this.isAlone = isAlone;
    connection.join?.();
    this.name = connection.name;
    this.client = connection.client;
    connection.window ??= new Window(connection, wire, new MasterClock(runtime), runtime, window);
    this.window = connection.window as Window;
  }

  get drainedAt(): number {
    return this.window.drainedAt;
  }

  refuses(resources: readonly string[]): string | undefined {
    return this.connection.refuses?.(resources);
  }

  ask(question: Question, place: number, sink: Sink): void {
    const { purpose } = verbs[question.verb];
    this.post({ question, place, sink, purpose, readsTime: false, asker: this });
  }

  settled({ sink, place }: Posted, answer: Answer, _reading?: Reading | Fault): void {
    sink.answered(place, answer);
  }

  get server(): MasterServer {
    return {
      ids: this.connection.serverIds ?? [],
      refuseVotes: (refusal) => {
        this.#refusal = refusal;
        this.#latestRefusal = refusal ?? this.#latestRefusal;
      },
    };
  }

  /** Whether it can be asked now for anything. */
  protected get isAsked(): boolean {
    return this.connection.isReady && !this.#refusal && !this.#isLeft;
  }

  onMove(listener: (why: string) => void): void {
    this.connection.onMove?.(listener);
  }

  onReady(listener: () => void): () => void {
    return this.connection.onReady(listener);
  }

  leave(): void {
    void this.window.finish();
    this.connection.leave?.();
    this.#isLeft = true;
  }

  async close(): Promise<void> {
    await this.window.finish();
    this.#isLeft = true;
    await this.connection.close();
  }

  disconnect(): void {
    this.connection.disconnect();
  }

  /** The only way to the master. */
  protected post(posted: Posted): void {
    if (this.#isLeft) settle(posted, fault(this.name, "ABANDONED", "this Redlock has quit", false));
    else if (!this.connection.isReady) void this.#postWhenConnected(posted);
    // PROTOCOL 2.8: the connection has been made, so it is known whether its server votes through another node.
    else if (this.#refusal && posted.purpose !== "release") settle(posted, this.#refusal);
    else this.window.post(posted);
  }

  /** Sends once the first connection is ready, or it is known where one in doubt leads (PROTOCOL 2.18); or not at all. */
  async #postWhenConnected(posted: Posted): Promise<void> {
    const before = this.#latestRefusal;
    await this.connection.connectFirst();
    // PROTOCOL 2.10: the round may have a vote of this server by another address.
    const hasVoted = this.#latestRefusal !== before;
    if (isAbandoned(posted)) settle(posted, this.window.abandonedFault);
    else if (!this.connection.isReady) settle(posted, unsent(this.name, this.connection.notReadyReason));
    else if (hasVoted && posted.question.claim) settle(posted, this.#latestRefusal!);
    else this.post(posted);
  }
}
