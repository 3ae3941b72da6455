import assert from "node:assert/strict";
import type { Redlock } from "@quorlock/redlock";
import type { Redis } from "ioredis";

export interface Fixture {
  readonly redlock: Redlock;
  readonly clients: readonly Redis[];
  /**
   * "kill": done to all but the first of the masters; "hang all", "kill all". "terminate": this process is sent
   * SIGTERM.
   */
  ask(what: string): Promise<void>;
}

export type Scenario = (fixture: Fixture) => Promise<unknown>;

const ttl = 60_000;
const quitClients = ({ clients }: Fixture): Promise<unknown> =>
  Promise.all(clients.map((client) => client.quit()));
const disconnectClients = ({ clients }: Fixture): void => {
  for (const client of clients) client.disconnect();
};

/** In the pause before the next attempt: a client that is disconnected there emits no "end". */
async function untilReconnecting(clients: readonly Redis[]): Promise<void> {
  for (;;) {
    if (clients.every(({ status }) => status === "reconnecting")) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Rejected on purpose, by `quit` or a lost master: not what the scenario is about. */
function ignore(call: Promise<unknown>): void {
  call.catch(() => {});
}

async function busyWith(fixture: Fixture): Promise<void> {
  const { redlock } = fixture;
  await redlock.acquire("held", ttl);
  ignore(redlock.acquire("held", ttl, { retryCount: -1, retryDelay: 60_000 }));
  ignore(redlock.acquire("held", ttl, { waitTimeout: 60_000 }));
}

/** The event loop stands still, as it does for a long computation. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

function untilAborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => signal.addEventListener("abort", resolve));
}

/** The steps of the process; then it must exit, without an error. */
export const scenarios: Record<string, Scenario> = {
  "quit, nothing done": ({ redlock }) => redlock.quit(),
  async "quit keeps the clients with all masters hung, and they disconnect"(fixture) {
    await busyWith(fixture);
    await fixture.ask("hang all");
    ignore(fixture.redlock.acquire("another", ttl));
    await fixture.redlock.quit({ keepClients: true });
    disconnectClients(fixture);
  },
  async "quit while using runs"({ redlock }) {
    let quitting: Promise<void> | undefined;
    await redlock.using("held", 3000, async (signal) => {
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
      quitting = redlock.quit();
      await aborted;
    });
    await quitting;
  },
  async "quit after callers gave up while late extensions held them back"({ redlock }) {
    const short = 5000;
    const end = new AbortController();
    const ended = untilAborted(end.signal);
    let held = 0;
    const all: Promise<unknown>[] = [];
    await new Promise<void>((resolve) => {
      for (let index = 0; index < 256; index += 1) {
        const routine = (): Promise<unknown> => {
          held += 1;
          if (held === 256) resolve();
          return ended;
        };
        all.push(redlock.using(`r${index}`, short, { waitTimeout: ttl }, routine));
      }
    });
    // Every extension is due after a third of the ttl, and begins more than a twentieth later.
    block(short / 2);
    const refusal = /^No new lock: \d+ are held, and their extensions are \d+ ms late/;
    for (let message = ""; !refusal.test(message); ) {
      const refused = redlock.acquire("another", short, { waitTimeout: 20 });
      const lock = await refused.catch((error: Error) => {
        ({ message } = error);
        return undefined;
      });
      await lock?.release();
    }
    end.abort();
    await Promise.all(all);
    await redlock.quit();
  },
  async "quit with all masters hung"(fixture) {
    await busyWith(fixture);
    await fixture.ask("hang all");
    ignore(fixture.redlock.acquire("another", ttl));
    await fixture.redlock.quit();
  },
  async "quit with all masters dead"(fixture) {
    await busyWith(fixture);
    await fixture.ask("kill all");
    await fixture.redlock.acquire("another", ttl, { retryCount: 1 }).catch(() => {});
    await fixture.redlock.quit();
  },
  async "the clients quit while using never ends"(fixture) {
    await new Promise<void>((resolve) => {
      ignore(
        fixture.redlock.using("held", 3000, () => {
          resolve();
          return new Promise(() => {});
        }),
      );
    });
    await quitClients(fixture);
  },
  async "the clients disconnect, an acquire has timed out at a hung master"(fixture) {
    await fixture.redlock.acquire("held", ttl);
    await fixture.ask("hang all");
    await fixture.redlock.acquire("another", ttl, { retryCount: 0 }).catch(() => {});
    disconnectClients(fixture);
  },
  async "the clients disconnect, clean-ups are owed to dead masters"(fixture) {
    const lock = await fixture.redlock.acquire("held", ttl);
    await fixture.ask("kill all");
    await lock.release();
    await untilReconnecting(fixture.clients);
    disconnectClients(fixture);
  },
  async "faults of dead masters without an error listener"(fixture) {
    await fixture.redlock.acquire("held", ttl);
    await fixture.ask("kill");
    for (let round = 0; round < 5; round += 1) {
      await fixture.redlock.acquire(`r${round}`, ttl, { retryCount: 0 }).catch(() => {});
    }
    await fixture.redlock.quit();
  },
  async "terminated in the middle of using: quit drains, and the routine ends by itself"(fixture) {
    const { redlock } = fixture;
    const quit = new Promise<void>((resolve, reject) => {
      process.once("SIGTERM", () => void redlock.quit({ drain: ttl }).then(resolve, reject));
    });
    await redlock.using("held", ttl, async (signal, lock) => {
      await fixture.ask("terminate");
      await lock.extend(2 * ttl);
      assert.equal(signal.aborted, false);
    });
    await quit;
  },
};
