import { mkdir, rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { RedlockOptions } from "@quorlock/redlock";
import { Child } from "@quorlock/simulation/processes";
import {
  type Proxy as Address,
  type Master,
  type Masters,
  startMasters,
  startMastersWithClocks,
  startProxy,
} from "@quorlock/testbed";
import { Redis } from "ioredis";
import type { Narrator } from "../fixture/narrator.ts";
import { Fleet, ttl } from "./fleet.ts";

/** An operation on the masters of a running application. It throws if the application notices more than it may. */
export interface Runbook {
  readonly title: string;
  run(narrator: Narrator): Promise<void>;
}

const clients = ["client 1", "client 2", "client 3"] as const;

/** A service that works while its masters are operated on. */
class Stage {
  readonly fleet: Fleet;
  readonly #narrator: Narrator;

  constructor(narrator: Narrator, fleet: Fleet) {
    this.#narrator = narrator;
    this.fleet = fleet;
  }

  /** Begins all clients, and waits until locks are granted. */
  async begin(urls: readonly string[], options?: RedlockOptions): Promise<void> {
    for (const name of clients) this.fleet.begin(name, urls, options);
    // Masters that are new to the restart guard are in quarantine first.
    await this.fleet.granted(50, options?.restartGuard ? 10 * ttl : undefined);
  }

  say(text: string): void {
    this.#narrator.event("step", "cyan", text);
  }

  /** Says what is done, and then proves that the service works. */
  async step(text: string, act: () => Promise<unknown>): Promise<void> {
    this.say(text);
    await act();
    const took = await this.fleet.granted(50);
    this.#narrator.event("works", "green", `50 locks granted in ${took} ms`);
  }

  /** Until every lock that was granted before has expired. */
  async waitForLongestTtl(): Promise<void> {
    this.#narrator.event("wait", "dim", `for the longest ttl, ${ttl} ms`);
    await pause(ttl);
  }

  /** Gives the clients another list one after the other, as a rolling deployment does. */
  async rollOut(text: string, urls: readonly string[]): Promise<void> {
    await this.step(text, async () => {
      for (const name of clients) {
        await this.fleet.end(name);
        this.fleet.begin(name, urls);
        await this.fleet.granted(5);
      }
    });
    await this.waitForLongestTtl();
  }
}

/** A runbook on masters that are started for it; the verdict is the same for all. */
function runbook<M extends Masters>(
  title: string,
  start: () => Promise<M>,
  play: (stage: Stage, masters: M) => Promise<void>,
): Runbook {
  return {
    title,
    async run(narrator) {
      await using masters = await start();
      await using fleet = new Fleet();
      await play(new Stage(narrator, fleet), masters);
      const { grants, overlaps, lost } = fleet;
      narrator.event("result", "bold", `${grants} locks granted, ${overlaps} overlaps, ${lost} lost`);
      if (overlaps > 0) throw new Error(`${overlaps} locks were valid beside another`);
    },
  };
}

async function admin<T>(master: Master, act: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(master.url);
  try {
    return await act(redis);
  } finally {
    redis.disconnect();
  }
}

/** Waits until the master says so; bounded by 30 s. */
async function untilMaster(
  master: Master,
  what: string,
  isSo: (redis: Redis) => Promise<boolean>,
): Promise<void> {
  await admin(master, async (redis) => {
    for (let tries = 0; !(await isSo(redis)); tries += 1) {
      if (tries === 300) throw new Error(`${master.url}: not ${what} within 30 s`);
      await pause(100);
    }
  });
}

function untilSaved(master: Master, status: "ok" | "err"): Promise<void> {
  return untilMaster(master, `a snapshot with ${status}`, async (redis) =>
    (await redis.info("persistence")).includes(`rdb_last_bgsave_status:${status}`),
  );
}

function quiet(count: number, persistence: "aof-always" | "none"): () => Promise<Masters> {
  return () => startMasters(count, { source: "local-binary", persistence, say: () => {} });
}

export const rollingRestart: Runbook = runbook(
  "Rolling restart of masters with appendfsync always",
  quiet(3, "aof-always"),
  async (stage, { urls, list }) => {
    await stage.begin(urls);
    for (const [index, master] of list.entries()) {
      await stage.step(`master ${index + 1} stops; the other two are a quorum`, () => master.kill());
      await stage.step(`master ${index + 1} starts, and has loaded its data`, () => master.restart());
    }
  },
);

export const rollingRestartInMemory: Runbook = runbook(
  "Rolling restart of masters that keep nothing, with restartGuard",
  quiet(3, "none"),
  async (stage, { urls, list }) => {
    await stage.begin(urls, { restartGuard: { maxTtl: ttl } });
    for (const [index, master] of list.entries()) {
      await stage.step(`master ${index + 1} restarts empty, and is in quarantine for maxTtl`, async () => {
        await master.kill();
        await master.restart();
      });
      await stage.waitForLongestTtl();
    }
  },
);

export const addMasters: Runbook = runbook(
  "From three masters to five",
  quiet(5, "aof-always"),
  async (stage, { urls }) => {
    await stage.begin(urls.slice(0, 3));
    await stage.rollOut("all clients get the list of four masters", urls.slice(0, 4));
    await stage.rollOut("all clients get the list of five masters", urls);
  },
);

export const replaceMaster: Runbook = runbook(
  "One of three masters is replaced",
  quiet(4, "aof-always"),
  async (stage, { urls, list }) => {
    const [first, second, old, next] = urls as [string, string, string, string];
    await stage.begin([first, second, old]);
    await stage.rollOut("all clients get the new master as the fourth", [first, second, old, next]);
    await stage.rollOut("all clients lose the old master", [first, second, next]);
    await stage.step("the old master is switched off", () => list[2]!.kill());
  },
);

/** So that `dir` can be set while the server runs. */
const settable = ["--enable-protected-configs", "yes"];

export const fullMaster: Runbook = runbook(
  "A master that cannot write any more",
  () => startMasters(3, { source: "local-binary", persistence: "rdb", config: settable, say: () => {} }),
  async (stage, { urls, list }) => {
    await stage.begin(urls);
    const [master] = list as [Master];
    const folder = (await admin(master, (redis) => redis.config("GET", "dir")))[1]!;
    await stage.step("the disk of master 1 is gone: it refuses writes with MISCONF", async () => {
      await rm(folder, { recursive: true });
      await admin(master, (redis) => redis.bgsave());
      await untilSaved(master, "err");
      await stage.fleet.reported(/MISCONF/);
    });
    await stage.step("master 1 gets another disk, and a snapshot succeeds: it votes again", async () => {
      await mkdir(folder);
      await admin(master, (redis) => redis.config("SET", "dir", folder));
      await admin(master, (redis) => redis.bgsave());
      await untilSaved(master, "ok");
    });
  },
);

export const wrongClock: Runbook = runbook(
  "A master whose clock is wrong",
  () => startMastersWithClocks(3, { persistence: "none", say: () => {} }),
  async (stage, { urls, clocks }) => {
    await stage.begin(urls, { clockWatch: { exclude: true, maxTtl: ttl } });
    await stage.step("the clock of master 1 jumps by an hour: its votes do not count", async () => {
      clocks[0]!.step(3_600_000);
      await stage.fleet.reported(/stepped/);
    });
    await stage.step("the clock is set right: its votes count again after the longest ttl", async () => {
      clocks[0]!.step(-3_600_000);
      await stage.fleet.reported(/synced/);
    });
  },
);

/** Two masters, and an address that leads to the first of them. */
async function atOneAddress(): Promise<Masters & { readonly address: Address }> {
  const masters = await quiet(2, "none")();
  const address = await startProxy(masters.list[0]!);
  const stop = async (): Promise<void> => {
    await address.stop();
    await masters.stop();
  };
  return { ...masters, address, stop, [Symbol.asyncDispose]: stop };
}

export const failover: Runbook = runbook(
  "One Redis with a replica: failover with restartGuard",
  atOneAddress,
  async (stage, { list, address }) => {
    const [primary, replica] = list as [Master, Master];
    await admin(replica, (redis) => redis.replicaof(primary.host, primary.port));
    await untilMaster(replica, "in sync", async (redis) =>
      (await redis.info("replication")).includes("master_link_status:up"),
    );
    await stage.begin([address.url], { restartGuard: { maxTtl: ttl } });
    await stage.step("the primary dies, the replica is promoted: no lock for maxTtl", async () => {
      await primary.kill();
      await admin(replica, (redis) => redis.call("REPLICAOF", "NO", "ONE"));
      address.leadTo(replica);
    });
  },
);

export const upgradeFromRedlock5: Runbook = runbook(
  "From redlock 5 to Quorlock in a running fleet",
  quiet(3, "aof-always"),
  async (stage, { urls }) => {
    const { fleet } = stage;
    for (const name of clients) fleet.beginRedlock5(name, urls);
    await fleet.granted(20);
    for (const name of clients) {
      await stage.step(`${name} is deployed with Quorlock`, async () => {
        await fleet.end(name);
        fleet.begin(name, urls);
      });
    }
  },
);

const worker = new URL("worker.ts", import.meta.url);

export const sigterm: Runbook = runbook(
  "SIGTERM, as Kubernetes sends it, while a process holds the lock",
  quiet(3, "aof-always"),
  async (stage, { urls }) => {
    await stage.begin(urls);
    await using child = Child.node(worker, urls);
    const time = async (line: number): Promise<number> => Number((await child.line(line)).split(" ")[1]);
    const begin = await time(0);
    stage.say("the process holds the lock and gets SIGTERM: quit({ drain })");
    child.process.kill("SIGTERM");
    const end = await time(1);
    stage.say(`its routine ends after ${Math.round(end - begin)} ms, and the process exits`);
    const { code, signal, errors } = await child.ended;
    if (code !== 0) throw new Error(`the process ended with ${code ?? signal}: ${errors}`);
    stage.fleet.compareWith([begin, end]);
    await stage.step("the other clients go on", async () => {});
  },
);
