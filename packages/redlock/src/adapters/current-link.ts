import type { Args, Done, Message } from "../redis/connection.ts";
import { outside } from "../time/async-context.ts";
import { Latch } from "../time/cancellation.ts";
import { afterTurn, systemRuntime } from "../time/system.ts";
import { Dialer } from "./dialer.ts";
import { type Driver, runIdIn } from "./driver.ts";
import { type Link, Lost, NotSent, promised } from "./link.ts";
import { Doubt, dialSecond, doubtInterval, type LinkState, nextSecond } from "./link-state.ts";
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

/**
 * How many silences of the first link, or looks at a doubt, a second one may be ready without an answer. The first silences
 * are short, and a server that holds back writes for a while answers neither link: each next one would be in vain.
 */
const silencePatience = 2;
const doubtPatience = 4;

/**
 * Which link to a master is current, and what is sent on it. A link is replaced if the server reports that it is a
 * replica, if it is silent while a second one is not, and if it may lead to another server than the user's client. Commands
 * sent on the old link are then rejected and never resent (PROTOCOL 2.2).
 */
export class CurrentLink {
  /** Why nothing can be sent. */
  reason = "its client has ended";
  /** When an established link was lost, by the monotonic clock. */
  lostAt: number = Number.NEGATIVE_INFINITY;
  readonly server: ServerCheck;
  readonly #driver: Driver;
  readonly #open: () => Link;
  readonly #onEstablished: () => void;
  readonly #silence: SilenceWatch;
  #state: LinkState = { is: "dialing" };
  /** Makes the current link. */
  #dialer: Dialer;
  /** For the first link, or for the end of a doubt: one promise, by which tens of thousands of commands may wait. */
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

  /** As in `Connection.connectFirst`. `before`: awaited before anything is dialed. */
  connectFirst(before?: Promise<void>): Promise<void> | undefined {
    if (this.#wait) return this.#wait.done;
    const { state } = this.#dialer;
    // "over": the user's retry strategy has given up. This connection lives as long as the user's client.
    const isUnused = (state === "wait" || state === "over") && this.#driver.status !== "end";
    if (!isUnused) return undefined;
    if (state === "over") {
      if (systemRuntime.monotonic() - this.#dialer.dialedAt < minConnectInterval) return undefined;
      this.#dialer = this.#newDialer();
    }
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
    const state = this.#state;
    if (state.is !== "doubted") this.#dialer.link!.post(message, this.#watched(done));
    else this.#hold(state, message, done);
  };

  #hold(doubt: Doubt, message: Message, done: Done): void {
    doubt.hold((error) => (error ? done(undefined, error) : this.deliver(message, done)));
  }

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
        const state = this.#state;
        if (dialer === this.#dialer || state.is === "doubted") this.reason = messageOf(error);
        if (dialer === this.#dialer) this.#onLost();
        if (dialer.state !== "over" || state.second?.dialer !== dialer) return;
        state.second = undefined;
        if (state.is === "doubted") void this.#askUser(state);
      },
    });
    return dialer;
  }

  /** The only place where the state changes: what belonged to the previous one ends. */
  #become(next: LinkState): void {
    const before = this.#state;
    const { second } = before;
    this.#state = next;
    if (second && second !== next.second && second.dialer !== this.#dialer) void second.dialer.drop();
    if (before.is === "doubted") before.end(this.isReady ? undefined : new NotSent(this.reason));
  }

  /** The current link is lost, or replaced by one that is not established yet. */
  #onLost(): void {
    if (this.#isEstablished) this.lostAt = systemRuntime.monotonic();
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
    if (state.is === "silent" || state.is === "dialing")
      nextSecond(state, silencePatience, () => this.#newDialer());
  }

  /** A second link is ready: decides between it and the current one. */
  async #judge(dialer: Dialer): Promise<void> {
    const { second } = this.#state;
    if (second?.dialer !== dialer) return;
    const { link } = dialer;
    second.unanswered = 0;
    const ids = await this.#identify(dialer);
    if (ids && this.#state.is !== "doubted")
      await untilItWrites((command, args) => this.#ask(dialer, command, args));
    if (!ids || this.#state.second !== second || dialer.link !== link || !dialer.isReady) return;
    if (dialer.isBehind) dialer.redial();
    else if (this.#state.is === "doubted" && this.server.leadsTo(this.#dialer, ids[0]))
      this.#trust(dialer.dialedAfter);
    else await this.#switchTo(dialer);
  }

  /** The current link leads to the server of this dial of the user's client: it goes on. */
  #trust(dial: number): void {
    this.#dialer.dialedAfter = dial;
    void this.#isAtUsers(this.#dialer);
    this.#become({ is: "current" });
    this.#endWait();
  }

  /** Commands on the replaced link are rejected before anything is sent on the new one. */
  async #switchTo(dialer: Dialer): Promise<void> {
    const old = this.#dialer;
    const isDoubted = this.#state.is === "doubted";
    if (this.#isEstablished) this.lostAt = systemRuntime.monotonic();
    if (!isDoubted) this.reason = "the connection was silent and is being replaced";
    this.#dialer = dialer;
    this.#become({ is: "dialing" });
    if (!isDoubted) this.#endWait();
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
    const late = new Promise((resolve) => systemRuntime.setTimer(() => resolve(true), askTime).unref());
    const isThere = await Promise.race([this.#isAtUsers(dialer), late]);
    if (!isThere || !isCurrent()) return;
    // Nothing was sent on it.
    if (dialer.isBehind) dialer.redial();
    else {
      this.#become({ is: "current" });
      this.#onEstablished();
      this.#endWait();
    }
  }

  /** Whether the link leads to the server of the user's client, as far as both are told (PROTOCOL 2.18). */
  async #isAtUsers(dialer: Dialer): Promise<boolean> {
    const why = await this.server.contradiction(dialer);
    if (why === undefined) return true;
    // It is made again, but not faster than once a second.
    dialer.cut(new Lost(why), this.#isEstablished ? 0 : doubtInterval);
    return false;
  }

  /** The user's client has connected, perhaps to another server: this connection follows. */
  follow(): void {
    const dialer = this.#dialer;
    const { isBehind } = dialer;
    if (!isBehind && this.server.isFound(dialer)) void this.#isAtUsers(dialer);
    if (this.#isEstablished) {
      if (isBehind) this.#doubt();
      return;
    }
    // It is as good as a first one: callers wait for it.
    if (isBehind || dialer.state === "dialing" || dialer.state === "ready") void this.#waiting();
    if (!isBehind) return;
    // Nothing was sent on it.
    this.#become({ is: "dialing" });
    dialer.redial();
  }

  /**
   * The address may have led to another server when the current link was dialed. A second one shows where
   * it leads now; commands wait for that (PROTOCOL 2.18).
   */
  #doubt(): void {
    if (this.#driver.isCluster) {
      // Its connections are many, and those of its library.
      this.renew();
      void this.connectFirst();
      return;
    }
    let state = this.#state;
    if (state.is !== "doubted") {
      this.reason = "its client has reconnected, perhaps to another server";
      void this.#waiting();
      state = new Doubt(state.second, (doubt) => this.#look(doubt));
      this.#become(state);
    }
    const { second } = state;
    if (!second) dialSecond(state, this.#newDialer());
    else if (second.dialer.isBehind) second.dialer.redial();
  }

  #look(doubt: Doubt): void {
    if (doubt.second) {
      nextSecond(doubt, doubtPatience, () => this.#newDialer());
      void this.#askUser(doubt);
    }
    // The user's strategy has given the second one up.
    else this.#dialer.cut();
  }

  /**
   * A server may refuse a second connection, or the network drop it, while it answers on the first two: then the user's
   * client says where it leads (PROTOCOL 2.18), even if it is blocked for a while.
   */
  async #askUser(doubt: Doubt): Promise<void> {
    if (doubt.isAsking || !this.#driver.asksServer) return;
    doubt.isAsking = true;
    const dial = this.#driver.dials.connected;
    const server = runIdIn(await this.server.ofUser());
    doubt.isAsking = false;
    if (this.#state === doubt && this.server.leadsTo(this.#dialer, server)) this.#trust(dial);
  }
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
