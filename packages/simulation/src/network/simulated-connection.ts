import type { Connection } from "@quorlock/redlock/internal";
import { deferred } from "../engine/deferred.ts";
import { shortestDelay } from "../engine/engine.ts";
import type { Kernel } from "../engine/kernel.ts";
import type { Master } from "../master/master.ts";
import { ReplyError } from "../master/reply.ts";
import { type ConnectionOptions, Dialer } from "./dialer.ts";
import type { SimulatedSubscription } from "./simulated-subscription.ts";

/** The connection is gone, and with it whatever was not answered. */
class ConnectionError extends Error {
  override name = "ConnectionError";
}

interface Request {
  /** On this connection. */
  readonly number: number;
  readonly command: string;
  readonly args: readonly (string | number)[];
  readonly database: number;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly sentAt: number;
  /** Of the connection it was sent on. */
  readonly generation: number;
  readonly master: Master;
  /** Of the master that this connection leads to. */
  readonly incarnation: number;
  /** The additional delay of the message, us. */
  delay: number;
  /** It will not reach the master any more. */
  isLost: boolean;
  hasArrived: boolean;
}

/** The fate of requests that are in flight when the connection is reset. */
export type InFlight = "lost" | "delivered";

/** Sees what only the wire knows. */
export interface Witness {
  /** In a turn of the client: a command is on its way. */
  sent(command: string, args: readonly (string | number)[]): void;
  /** A master has executed a command `age` us after it was sent. */
  executed(command: string, args: readonly (string | number)[], reply: unknown, age: number): void;
  /** A command was executed, and its reply will never come. */
  replyLost(command: string): void;
  /** In a turn of the client: it hears a reply to what it sent at `sentAt`, us. So far the master had stepped then, ms. */
  heard?(command: string, args: readonly (string | number)[], steppedBy: number, sentAt: number): void;
}

/**
 * A client's FIFO connection to one master, as the client's `Connection` demands: sends at once or not at all,
 * rejects what is unanswered when it is lost, and connects again.
 *
 * TCP does not lose single messages. So nothing here does either: a direction can be slow or cut (kept on the
 * way), and the connection can be reset, with requests on the way delivered or lost, and all replies lost.
 */
export class SimulatedConnection extends Dialer implements Connection {
  readonly name: string;
  readonly client: object = {};
  readonly #witness: Witness;
  serverIds: readonly string[] = [];
  session = 0;
  readonly #listen: (() => SimulatedSubscription) | undefined;
  #subscription: SimulatedSubscription | undefined;
  readonly notReadyReason: string = "the connection was lost";
  readonly #readyListeners = new Set<() => void>();
  /** As a client keeps them: those who have to hear of it are kept elsewhere. */
  readonly #moveListeners: Array<(why: string) => void> = [];
  #database = 0;
  #state: "first" | "ready" | "lost" | "closed" = "first";
  #first = deferred();
  /** The connection that the client takes for the current one. */
  #standing = 0;
  /** Of the master that it leads to. */
  #incarnation = 0;
  /** In the order of sending. */
  #unanswered: Request[] = [];
  #sent = 0;
  /** All keys are in one slot of it. */
  readonly isCluster: boolean;
  /** For a mutant: a server that refuses INFO with BUSY has no id, and the connection is used (PROTOCOL 2.9). */
  takesBusyForNoId = false;

  /** `listen`: for the first channel, on which connection it listens. */
  constructor(
    kernel: Kernel,
    options: ConnectionOptions,
    witness: Witness,
    listen?: () => SimulatedSubscription,
  ) {
    super(kernel, options);
    this.#witness = witness;
    this.#listen = listen;
    this.name = options.name ?? options.master.name;
    this.isCluster = options.isCluster ?? false;
    this.#connect();
  }

  get isReady(): boolean {
    return this.#state === "ready";
  }

  get database(): number {
    return this.#database;
  }

  onMove(listener: (why: string) => void): void {
    this.#moveListeners.push(listener);
  }

  /**
   * The client's user switches it to another database: that is another connection. Commands on their way still arrive in
   * the previous one, and are answered to nobody.
   */
  select(database: number): void {
    this.later(() => {
      const left = this.#database;
      if (this.#state === "closed" || database === left) return;
      this.#database = database;
      this.kernel.trace.add(this.kernel.now, this.options.client.name, "selects", this.name, database);
      for (const { command, hasArrived } of this.#unanswered)
        if (hasArrived) this.#witness.replyLost(command);
      this.generation += 1;
      if (this.#state !== "first") this.#first = deferred();
      this.#state = "first";
      this.#abandon("delivered");
      this.#connect();
      const why = `switched from database ${left} to ${database}`;
      for (const listener of this.#moveListeners) listener(why);
    }, shortestDelay);
  }

  connectFirst(): Promise<void> | undefined {
    return this.#state === "first" ? this.#first.promise : undefined;
  }

  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    if (this.#state !== "ready") return Promise.reject(new ConnectionError("not connected"));
    const { client, requests } = this.options;
    const master = this.dialed;
    this.#sent += 1;
    const number = this.#sent;
    const { trace } = this.kernel;
    if (trace.isOn) trace.add(client.now, client.name, "sends", master.name, number, command, ...args);
    return new Promise((resolve, reject) => {
      const generation = this.#standing;
      // It may be broken already, and the client not have heard of it.
      const isLost = generation !== this.generation;
      const sentAt = client.now;
      const request: Request = {
        number,
        command,
        args,
        database: this.#database,
        resolve,
        reject,
        sentAt,
        generation,
        master,
        incarnation: this.#incarnation,
        delay: 0,
        isLost,
        hasArrived: false,
      };
      this.#unanswered.push(request);
      requests.send(client.now, () => this.#arrive(request));
      this.#witness.sent(command, args);
    });
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof ReplyError;
  }

  subscribe(
    channel: string,
    hear: (message: string) => void,
    changed: (isListening: boolean, error?: unknown) => void,
  ): void {
    this.#subscription ??= this.#listen?.();
    if (!this.#subscription) throw new Error("this connection has nothing to listen on");
    this.#subscription.subscribe(channel, hear, changed);
  }

  onReady(listener: () => void): () => void {
    this.#readyListeners.add(listener);
    return () => this.#readyListeners.delete(listener);
  }

  close(): Promise<void> {
    this.disconnect();
    return Promise.resolve();
  }

  disconnect(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#subscription?.disconnect();
    this.#abandon("delivered");
    this.#first.resolve();
  }

  /**
   * The connection breaks. The client notices as soon as it runs. Delivered requests may arrive up to `late` us later:
   * the kernel still sends data of a closed connection, even after data of the next connection.
   */
  reset(inFlight: InFlight, late = 0): void {
    if (this.#state === "closed") return;
    const wasReady = this.#state === "ready";
    this.generation += 1;
    const generation = this.generation;
    for (const request of this.#unanswered) {
      if (request.hasArrived) this.#witness.replyLost(request.command);
      else if (inFlight === "lost") request.isLost = true;
      else request.delay = late;
    }
    if (wasReady) this.later(() => this.#lose(inFlight), shortestDelay);
    this.#retryLater(generation);
  }

  /** At the master's end of the wire. */
  #arrive(request: Request): void {
    const { master, incarnation, delay } = request;
    if (request.isLost || !master.isUp || master.incarnation !== incarnation) return;
    if (delay > 0) {
      request.delay = 0;
      this.kernel.engine.schedule(() => this.#arrive(request), delay);
      return;
    }
    request.hasArrived = true;
    master.process.deliver(() => {
      if (!master.isUp || master.incarnation !== incarnation) return;
      const reply = this.#execute(request);
      const { now, trace } = this.kernel;
      const { number, command } = request;
      if (trace.isOn)
        trace.add(now, master.name, "runs", this.options.client.name, number, command, textOf(reply));
      if (request.database === 0)
        this.#witness.executed(request.command, request.args, reply, now - request.sentAt);
      if (request.generation === this.generation) this.#reply(request, reply, master.steps.by);
      else this.#witness.replyLost(request.command);
    });
  }

  #execute({ master, command, args, database }: Request): unknown {
    const { client } = this.options;
    return database === 0 ? master.execute(command, args, client) : master.executeIn(database, command, args);
  }

  #reply(request: Request, reply: unknown, steppedBy: number): void {
    const { client, replies } = this.options;
    const { master } = request;
    replies.send(master.process.now, () => {
      if (request.generation !== this.generation) return;
      client.deliver(() => {
        if (!this.#forget(request)) return;
        this.kernel.trace.add(this.kernel.now, client.name, "hears", master.name, request.number);
        if (reply instanceof ReplyError) request.reject(reply);
        else {
          this.#witness.heard?.(request.command, request.args, steppedBy, request.sentAt);
          request.resolve(reply);
        }
      });
    });
  }

  /** Whether it was still unanswered. Replies come in order, so it is the first. */
  #forget(request: Request): boolean {
    const place = this.#unanswered.indexOf(request);
    if (place >= 0) this.#unanswered.splice(place, 1);
    return place >= 0;
  }

  #lose(inFlight: InFlight): void {
    this.kernel.trace.add(this.kernel.now, this.options.client.name, "loses", this.name);
    if (this.#state === "ready") this.#state = "lost";
    this.#abandon(inFlight);
  }

  /** In a turn of the client: whatever is unanswered stays so. */
  #abandon(inFlight: InFlight): void {
    const abandoned = this.#unanswered;
    this.#unanswered = [];
    for (const request of abandoned) {
      if (!request.hasArrived && inFlight === "lost") request.isLost = true;
      request.reject(new ConnectionError("the connection was lost"));
    }
  }

  protected override onDown(): void {
    this.reset("lost");
  }

  #connect(): void {
    const { generation } = this;
    const isVoid = (): boolean =>
      generation !== this.generation || this.#state === "ready" || this.#state === "closed";
    this.dial(isVoid, (isUp, isBusy) => {
      // A server that does not say which one it is may be that of another address (PROTOCOL 2.9).
      if (isUp && (!isBusy || this.takesBusyForNoId)) this.#stand(isBusy ? [] : [this.dialed.runId]);
      else this.#fail();
    });
  }

  #stand(serverIds: readonly string[]): void {
    this.kernel.trace.add(this.kernel.now, this.options.client.name, "connects", this.name);
    this.#state = "ready";
    this.#standing = this.generation;
    this.session += 1;
    this.#incarnation = this.dialed.incarnation;
    this.serverIds = serverIds;
    this.#first.resolve();
    for (const listener of [...this.#readyListeners]) listener();
  }

  #fail(): void {
    this.#state = "lost";
    this.#first.resolve();
    this.#retryLater(this.generation);
  }

  #retryLater(generation: number): void {
    this.later(() => {
      if (generation !== this.generation || this.#state === "ready" || this.#state === "closed") return;
      this.#connect();
    }, this.options.reconnectDelay * 1000);
  }
}

function textOf(reply: unknown): string {
  if (reply instanceof Error) return reply.message;
  return Array.isArray(reply) ? reply.join(",") : String(reply);
}
