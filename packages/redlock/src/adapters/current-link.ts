import type { Args, Done, Message } from "../redis/connection.ts";
import { outside } from "../time/async-context.ts";
import { Latch } from "../time/cancellation.ts";
import { afterTurn, systemRuntime } from "../time/system.ts";
import { Dialer } from "./dialer.ts";
import type { Driver } from "./driver.ts";
import { type Link, NotSent, promised } from "./link.ts";
import { ServerCheck } from "./server-check.ts";
import { SilenceWatch } from "./silence-watch.ts";

/**
 * A connection younger than this is not replaced because of an error reply, ms: the server remains a replica
 * for a while, and reconnecting at once would only repeat the error.
 */
const minAge = 1000;

/** The minimum time between two dials, ms: each call asks for a first one where the user's strategy gives up. */
const minConnectInterval = 50;

/** The time for which a connection waits for the word of the user's client, which another command may block, ms. */
const askTime = 100;

/** After a link was found to lead elsewhere than the user's client, the next one is dialed after this time or more, ms. */
const minDelayElsewhere = 1000;

/**
 * How many silences of the first link a second one may be ready without an answer. The first silences are short, and a
 * server that holds back writes for a while answers neither link: each next one would be in vain.
 */
const patience = 2;

/**
 * The link is used in `current` and `silent`, where a command has waited for a whole period without any reply: then a
 * second link is dialed, and the first one that answers is used. In `doubted` the user's client has connected again,
 * perhaps to another server, and is asked (PROTOCOL 2.18): what was begun goes on, and all else waits. In `dialing` it is
 * made or identified, and may be silent as well, or there is none until one is needed.
 */
type LinkState =
  | { readonly is: "current" | "doubted"; second?: undefined }
  | { readonly is: "dialing" | "silent"; second?: Second | undefined };

/** A second link, which replaces the current one or is dropped. */
interface Second {
  readonly dialer: Dialer;
  /** How many times it was found ready without having shown anything. */
  unanswered: number;
}

/**
 * Which link to a master is current, and what is sent on it. A link is replaced if the server reports that it is a
 * replica, if it is silent while a second one is not, and if it may lead to another server than the user's client. Commands
 * sent on the old link are then rejected and never resent (PROTOCOL 2.2).
 */
export class CurrentLink {
  /** Why nothing can be sent. */
  reason = "the connection is closed";
  readonly server: ServerCheck;
  readonly #driver: Driver;
  readonly #open: () => Link;
  readonly #onEstablished: () => void;
  readonly #silence: SilenceWatch;
  #state: LinkState = { is: "dialing" };
  /** Makes the current link. */
  #dialer: Dialer;
  /** For the first link, or for the next one after a doubt: one promise, by which tens of thousands of commands may wait. */
  #wait: { readonly over: Latch; readonly done: Promise<void> } | undefined;

  /** `onEstablished`: called when commands can be sent on another link. */
  constructor(driver: Driver, open: () => Link, onEstablished: () => void) {
    this.#driver = driver;
    this.#open = open;
    this.#onEstablished = onEstablished;
    this.server = new ServerCheck(driver);
    this.#dialer = this.#newDialer();
    this.#silence = new SilenceWatch(systemRuntime, {
      onSilence: () => this.#onSilence(),
      onAnswer: () => {
        if (this.#state.is === "silent") this.#become({ is: "current" });
        else if (this.#state.is === "dialing") this.#become({ is: "dialing" });
      },
      isErrorReply: (error) => driver.isErrorReply(error),
    });
  }

  get isReady(): boolean {
    return this.isOpen && this.#state.is !== "doubted";
  }

  get isOpen(): boolean {
    return this.#isEstablished && this.#dialer.isReady;
  }

  /** When the current link was dialed, by the monotonic clock. */
  get dialedAt(): number {
    return this.#dialer.dialedAt;
  }

  /** As in `Connection.connectFirst`. `before`: awaited before anything is dialed. */
  connectFirst(before?: Promise<void>): Promise<void> | undefined {
    if (this.#wait) return this.#wait.done;
    const { state } = this.#dialer;
    // "over": the user's retry strategy has given up. This connection lives as long as the user's client.
    if ((state !== "wait" && state !== "over") || this.#driver.status === "end") return undefined;
    if (state === "over") {
      if (systemRuntime.monotonic() - this.#dialer.dialedAt < minConnectInterval) return undefined;
      this.#dialer = this.#newDialer();
    }
    return this.#dial(before);
  }

  #dial(before: Promise<void> | undefined): Promise<void> {
    const dialer = this.#dialer;
    const dial = (): void => {
      // (Meanwhile all nodes may have left.)
      if (dialer === this.#dialer && dialer.state === "wait") dialer.dial();
    };
    const connecting = this.#waiting();
    void (before ? before.then(dial) : dial());
    return connecting;
  }

  #waiting(): Promise<void> {
    if (!this.#wait) {
      const over = new Latch();
      this.#wait = { over, done: over.done };
    }
    return this.#wait.done;
  }

  #endWait(): void {
    this.#wait?.over.end();
    this.#wait = undefined;
  }

  /** Throws if nothing can be sent. */
  readonly deliver = (message: Message, done: Done): void => {
    if (!this.isOpen) throw new NotSent(this.reason);
    this.#dialer.link!.post(message, this.#watched(done));
  };

  /** A command of the current link. (A Cluster has many connections.) */
  #watched(done: Done): Done {
    if (this.#driver.isCluster) return done;
    this.#silence.onSent();
    return (reply, error) => {
      this.#silence.onSettled(error);
      done(reply, error);
    };
  }

  #ask(dialer: Dialer, command: string, args: Args): Promise<unknown> {
    return promised((done) => {
      if (!dialer.isReady) throw new NotSent(this.reason);
      dialer.link!.post({ command, args }, dialer === this.#dialer ? this.#watched(done) : done);
    });
  }

  #identify(dialer: Dialer): Promise<readonly string[] | undefined> {
    return outside(() => this.server.identify(dialer, () => this.#ask(dialer, "INFO", ["server"])));
  }

  /** Commands sent on the old link are answered with a fault; the next call makes a new one. */
  renew(why: string = this.reason): void {
    this.reason = why;
    const old = this.#dialer;
    this.#dialer = this.#newDialer();
    this.#onLost();
    old.end();
  }

  /** Closes a link to the wrong server, and makes another. */
  replaceIf(isWrong: () => boolean, why: string): void {
    const isYoung = systemRuntime.monotonic() - this.#dialer.readyAt < minAge;
    if (isYoung || !this.isReady || this.#driver.isCluster || !isWrong()) return;
    this.#dialer.cut();
    this.reason = why;
  }

  #newDialer(): Dialer {
    const dialer: Dialer = new Dialer(this.#driver, () => this.#open(), {
      onReady: () => void (dialer === this.#dialer ? this.#onConnected(dialer) : this.#judge(dialer)),
      onLost: (error) => {
        if (dialer === this.#dialer) {
          this.reason = messageOf(error);
          this.#onLost();
        }
        const state = this.#state;
        if (dialer.state === "over" && state.second?.dialer === dialer) state.second = undefined;
      },
    });
    return dialer;
  }

  /** The only place where the state changes: what belonged to the previous one ends. */
  #become(next: LinkState): void {
    const { second } = this.#state;
    this.#state = next;
    if (second && second !== next.second && second.dialer !== this.#dialer) void second.dialer.drop();
  }

  /** The current link is lost, or replaced by one that is not established yet. */
  #onLost(): void {
    this.#become({ is: "dialing" });
    this.#endWait();
  }

  get #isEstablished(): boolean {
    return this.#state.is !== "dialing";
  }

  #onSilence(): void {
    if (!this.#dialer.isReady) return;
    if (this.#state.is === "current") this.#become({ is: "silent" });
    const state = this.#state;
    if (state.is === "silent" || state.is === "dialing") this.#nextSecond(state);
  }

  /**
   * Sees to it that there is a second link. It is given up where it has been ready some times without an answer: its way may
   * be cut after its greeting, and it would be waited for as long as the first one, which is for ever.
   */
  #nextSecond(state: { second?: Second | undefined }): void {
    const { second } = state;
    if (second?.dialer.isReady) second.unanswered += 1;
    if (second && second.unanswered < patience) return;
    void second?.dialer.drop();
    const dialer = this.#newDialer();
    // The state has it before: it may be lost at once.
    state.second = { dialer, unanswered: 0 };
    dialer.dial();
  }

  /** A second link is ready: decides between it and the current one. */
  async #judge(dialer: Dialer): Promise<void> {
    const { second } = this.#state;
    if (second?.dialer !== dialer) return;
    const { link } = dialer;
    second.unanswered = 0;
    const ids = await this.#identify(dialer);
    if (!ids) return;
    await untilItWrites((command, args) => this.#ask(dialer, command, args));
    if (this.#state.second === second && dialer.link === link && dialer.isReady) await this.#switchTo(dialer);
  }

  /** Commands on the replaced link are rejected before anything is sent on the new one. */
  async #switchTo(dialer: Dialer): Promise<void> {
    const old = this.#dialer;
    this.reason = "the connection was silent and is being replaced";
    this.#dialer = dialer;
    this.#onLost();
    const { link } = dialer;
    await old.drop();
    // (Another link that it has made meanwhile is seen to.)
    if (dialer === this.#dialer && link === dialer.link && dialer.isReady) await this.#onConnected(dialer);
  }

  /** Identifies the server before anything else is sent (PROTOCOL 2.9). */
  async #onConnected(dialer: Dialer): Promise<void> {
    const link = dialer.link!;
    const isCurrent = (): boolean => dialer === this.#dialer && link === dialer.link && dialer.isReady;
    const ids = await this.#identify(dialer);
    if (!ids || !isCurrent()) return;
    this.server.found = { link, ids };
    // A comparison that takes too long counts as right, and is corrected later.
    const isThere = await inTime(this.#isAtUsers(dialer), true);
    if (!isThere || !isCurrent()) return;
    this.#become({ is: "current" });
    this.#onEstablished();
    this.#endWait();
  }

  /** Whether the link leads to the server of the user's client, as far as both are told (PROTOCOL 2.18). */
  async #isAtUsers(dialer: Dialer): Promise<boolean> {
    const found = await this.server.compare(dialer);
    if (typeof found === "string") return true;
    // It is made again, but not at once.
    dialer.cut(found, this.#isEstablished ? 0 : minDelayElsewhere);
    return false;
  }

  /** The user's client has connected, perhaps to another server: this connection follows. */
  follow(hasReconnected: boolean): void {
    const dialer = this.#dialer;
    if (this.#isEstablished && hasReconnected) void this.#doubt(dialer);
    else if (this.server.isFound(dialer)) void this.#isAtUsers(dialer);
    if (this.#isEstablished || dialer.state === "wait") return;
    // It is as good as a first one: callers wait for it.
    void this.#waiting();
    const isMade = dialer.state === "dialing" || dialer.state === "ready";
    if (isMade && !hasReconnected) return;
    // Nothing was sent on it.
    this.#become({ is: "dialing" });
    dialer.redial();
  }

  /**
   * The address may have led to another server when the current link was dialed. The client says where it leads now, and
   * commands wait for that (PROTOCOL 2.18).
   */
  async #doubt(dialer: Dialer): Promise<void> {
    const doubted: LinkState = { is: "doubted" };
    this.reason = "its client has reconnected, perhaps to another server";
    void this.#waiting();
    this.#become(doubted);
    // (The connections of a Cluster are many, and those of its library.)
    const found = this.#driver.isCluster ? "unknown" : await inTime(this.server.compare(dialer), "unknown");
    if (this.#state !== doubted) return;
    if (found === "same") {
      this.#become({ is: "current" });
      this.#endWait();
      return;
    }
    this.#dialer = this.#newDialer();
    this.#become({ is: "dialing" });
    void this.#dial(dialer.drop());
  }
}

/** What is found, or `late` after a while: another command may block the user's client. */
function inTime<T>(found: Promise<T>, late: T): Promise<T> {
  const over = new Promise<T>((resolve) => systemRuntime.setTimer(() => resolve(late), askTime).unref());
  return Promise.race([found, over]);
}

/**
 * The current link is silent: the server is slow, or the network is cut. No timeout can distinguish the two,
 * but a new connection can: a slow server answers it no earlier than earlier commands. It answers a write, because a
 * server may hold back those alone (CLIENT PAUSE WRITE).
 */
async function untilItWrites(ask: (command: string, args: Args) => Promise<unknown>): Promise<void> {
  await ask("SET", ["quorlock:silence", "", "XX", "PX", 1]).catch(() => {});
  // A server writes the answers of one turn to its connections in any order. A round trip later, those to earlier
  // commands have arrived, some in the same turn.
  await ask("PING", []).catch(() => {});
  await new Promise<void>((resolve) => afterTurn(resolve));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
