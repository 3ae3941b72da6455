import { mkdir, rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Child } from "@quorlock/simulation/processes";
import {
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

/** Says what is done, and then proves that the service works. */
async function step(
  narrator: Narrator,
  fleet: Fleet,
  text: string,
  act: () => Promise<unknown>,
): Promise<void> {
  narrator.event("step", "cyan", text);
  await act();
  const took = await fleet.granted(50);
  narrator.event("works", "green", `50 locks granted in ${took} ms`);
}

/** The verdict of every runbook. */
function conclude(narrator: Narrator, { grants, overlaps, lost }: Fleet): void {
  narrator.event("result", "bold", `${grants} locks granted, ${overlaps} overlaps, ${lost} lost`);
  if (overlaps > 0) throw new Error(`${overlaps} locks were valid beside another`);
}

/** Until every lock that was granted under the list of before has expired. */
async function waitForLongestTtl(narrator: Narrator): Promise<void> {
  narrator.event("wait", "dim", `for the longest ttl, ${ttl} ms`);
  await pause(ttl);
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

async function quiet(count: number, persistence: "aof-always" | "none"): Promise<Masters> {
  return startMasters(count, { source: "local-binary", persistence, say: () => {} });
}

export const rollingRestart: Runbook = {
  title: "Rolling restart of masters with appendfsync always",
  async run(narrator) {
    await using masters = await quiet(3, "aof-always");
    await using fleet = new Fleet();
    for (const name of clients) fleet.begin(name, masters.urls);
    await fleet.granted(50);
    for (const [index, master] of masters.list.entries()) {
      await step(narrator, fleet, `master ${index + 1} stops; the other two are a quorum`, () =>
        master.kill(),
      );
      await step(narrator, fleet, `master ${index + 1} starts, and has loaded its data`, () =>
        master.restart(),
      );
    }
    conclude(narrator, fleet);
  },
};

export const rollingRestartInMemory: Runbook = {
  title: "Rolling restart of masters that keep nothing, with restartGuard",
  async run(narrator) {
    await using masters = await quiet(3, "none");
    await using fleet = new Fleet();
    const options = { restartGuard: { maxTtl: ttl } };
    for (const name of clients) fleet.begin(name, masters.urls, options);
    await fleet.granted(50, 10 * ttl);
    for (const [index, master] of masters.list.entries()) {
      await step(
        narrator,
        fleet,
        `master ${index + 1} restarts empty, and is in quarantine for maxTtl`,
        async () => {
          await master.kill();
          await master.restart();
        },
      );
      await waitForLongestTtl(narrator);
    }
    conclude(narrator, fleet);
  },
};

/** Gives the clients another list one after the other, as a rolling deployment does. */
async function rollOut(
  narrator: Narrator,
  fleet: Fleet,
  text: string,
  urls: readonly string[],
): Promise<void> {
  await step(narrator, fleet, text, async () => {
    for (const name of clients) {
      await fleet.end(name);
      fleet.begin(name, urls);
      await fleet.granted(5);
    }
  });
  await waitForLongestTtl(narrator);
}

export const addMasters: Runbook = {
  title: "From three masters to five",
  async run(narrator) {
    await using masters = await quiet(5, "aof-always");
    await using fleet = new Fleet();
    for (const name of clients) fleet.begin(name, masters.urls.slice(0, 3));
    await fleet.granted(50);
    await rollOut(narrator, fleet, "all clients get the list of four masters", masters.urls.slice(0, 4));
    await rollOut(narrator, fleet, "all clients get the list of five masters", masters.urls);
    conclude(narrator, fleet);
  },
};

export const replaceMaster: Runbook = {
  title: "One of three masters is replaced",
  async run(narrator) {
    await using masters = await quiet(4, "aof-always");
    await using fleet = new Fleet();
    const [first, second, old, next] = masters.urls as [string, string, string, string];
    for (const name of clients) fleet.begin(name, [first, second, old]);
    await fleet.granted(50);
    await rollOut(narrator, fleet, "all clients get the new master as the fourth", [
      first,
      second,
      old,
      next,
    ]);
    await rollOut(narrator, fleet, "all clients lose the old master", [first, second, next]);
    await step(narrator, fleet, "the old master is switched off", () => masters.list[2]!.kill());
    conclude(narrator, fleet);
  },
};

export const fullMaster: Runbook = {
  title: "A master that cannot write any more",
  async run(narrator) {
    await using masters = await startMasters(3, {
      source: "local-binary",
      persistence: "rdb",
      // So that `dir` can be set while the server runs.
      config: ["--enable-protected-configs", "yes"],
      say: () => {},
    });
    await using fleet = new Fleet();
    for (const name of clients) fleet.begin(name, masters.urls);
    await fleet.granted(50);
    const [master] = masters.list as [Master];
    const folder = (await admin(master, (redis) => redis.config("GET", "dir")))[1]!;
    await step(narrator, fleet, "the disk of master 1 is gone: it refuses writes with MISCONF", async () => {
      await rm(folder, { recursive: true });
      await admin(master, (redis) => redis.bgsave());
      await untilSaved(master, "err");
      await fleet.reported(/MISCONF/);
    });
    await step(
      narrator,
      fleet,
      "master 1 gets another disk, and a snapshot succeeds: it votes again",
      async () => {
        await mkdir(folder);
        await admin(master, (redis) => redis.config("SET", "dir", folder));
        await admin(master, (redis) => redis.bgsave());
        await untilSaved(master, "ok");
      },
    );
    conclude(narrator, fleet);
  },
};

export const wrongClock: Runbook = {
  title: "A master whose clock is wrong",
  async run(narrator) {
    await using masters = await startMastersWithClocks(3, { persistence: "none", say: () => {} });
    await using fleet = new Fleet();
    const options = { clockWatch: { exclude: true, maxTtl: ttl } };
    for (const name of clients) fleet.begin(name, masters.urls, options);
    await fleet.granted(50);
    await step(
      narrator,
      fleet,
      "the clock of master 1 jumps by an hour: its votes do not count",
      async () => {
        masters.clocks[0]!.step(3_600_000);
        await fleet.reported(/step/);
      },
    );
    await step(
      narrator,
      fleet,
      "the clock is set right: its votes count again after the longest ttl",
      async () => {
        masters.clocks[0]!.step(-3_600_000);
        await fleet.reported(/synced/);
      },
    );
    conclude(narrator, fleet);
  },
};

export const failover: Runbook = {
  title: "One Redis with a replica: failover with restartGuard",
  async run(narrator) {
    await using masters = await quiet(2, "none");
    const [primary, replica] = masters.list as [Master, Master];
    await admin(replica, (redis) => redis.replicaof(primary.host, primary.port));
    await untilMaster(replica, "in sync", async (redis) =>
      (await redis.info("replication")).includes("master_link_status:up"),
    );
    await using address = await startProxy(primary);
    await using fleet = new Fleet();
    for (const name of clients) fleet.begin(name, [address.url], { restartGuard: { maxTtl: ttl } });
    await fleet.granted(50, 10 * ttl);
    await step(narrator, fleet, "the primary dies, the replica is promoted: no lock for maxTtl", async () => {
      await primary.kill();
      await admin(replica, (redis) => redis.call("REPLICAOF", "NO", "ONE"));
      address.leadTo(replica);
    });
    conclude(narrator, fleet);
  },
};

export const upgradeFromRedlock5: Runbook = {
  title: "From redlock 5 to Quorlock in a running fleet",
  async run(narrator) {
    await using masters = await quiet(3, "aof-always");
    await using fleet = new Fleet();
    for (const name of clients) fleet.beginRedlock5(name, masters.urls);
    await fleet.granted(20);
    for (const name of clients) {
      await step(narrator, fleet, `${name} is deployed with Quorlock`, async () => {
        await fleet.end(name);
        fleet.begin(name, masters.urls);
      });
    }
    conclude(narrator, fleet);
  },
};

const worker = new URL("worker.ts", import.meta.url);

export const sigterm: Runbook = {
  title: "SIGTERM, as Kubernetes sends it, while a process holds the lock",
  async run(narrator) {
    await using masters = await quiet(3, "aof-always");
    await using fleet = new Fleet();
    for (const name of clients) fleet.begin(name, masters.urls);
    await fleet.granted(50);
    await using child = Child.node(worker, masters.urls);
    const time = async (line: number): Promise<number> => Number((await child.line(line)).split(" ")[1]);
    const begin = await time(0);
    narrator.event("step", "cyan", "the process holds the lock and gets SIGTERM: quit({ drain })");
    child.process.kill("SIGTERM");
    const end = await time(1);
    narrator.event(
      "step",
      "cyan",
      `its routine ends after ${Math.round(end - begin)} ms, and the process exits`,
    );
    const { code, signal, errors } = await child.ended;
    if (code !== 0) throw new Error(`the process ended with ${code ?? signal}: ${errors}`);
    fleet.compareWith([begin, end]);
    await step(narrator, fleet, "the other clients go on", async () => {});
    conclude(narrator, fleet);
  },
};
