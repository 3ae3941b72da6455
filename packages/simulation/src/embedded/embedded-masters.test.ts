import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { Child, sourceFlags } from "../processes/child.ts";
import { within } from "../processes/within.ts";
import type { EmbeddedMaster, EmbeddedMasterOptions } from "./embedded-master.ts";
import { type EmbeddedMasters, startEmbeddedMasters } from "./start-embedded-masters.ts";

let masters: EmbeddedMasters;
const clients: Redis[] = [];

async function startOne(options: EmbeddedMasterOptions = {}): Promise<EmbeddedMaster> {
  masters = await startEmbeddedMasters(1, options);
  return masters.list[0]!;
}

/** A client that fails at once instead of trying again. */
function clientOf({ url }: { url: string }): Redis {
  const client = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
  client.on("error", () => {});
  clients.push(client);
  return client;
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await masters?.stop();
});

describe("kill", () => {
  test("ends connections and refuses new ones; a second call does nothing", async () => {
    const master = await startOne();
    const client = clientOf(master);
    await client.set("k", "v");
    const closed = new Promise((resolve) => {
      client.once("close", resolve);
    });
    await master.kill();
    await closed;
    await master.kill();
    await expect(clientOf(master).ping()).rejects.toThrow();
  });

  test.each([
    [{}, null],
    [{ persistence: "none" }, null],
    [{ persistence: "aof-always" }, "v"],
  ] as const)(
    "before a restart, %j: the key is %s, on the same port, by another process",
    async (options, left) => {
      const master = await startOne(options);
      const { port } = master;
      const before = await clientOf(master).info("server");
      await clientOf(master).set("k", "v");
      await master.kill();
      await master.restart();
      expect(master.port).toBe(port);
      const client = clientOf(master);
      expect(await client.get("k")).toBe(left);
      expect(runIdOf(await client.info("server"))).not.toBe(runIdOf(before));
    },
  );

  test("a restart kills a running master, and a hung one", async () => {
    const master = await startOne();
    const client = clientOf(master);
    await client.set("k", "v");
    await master.restart();
    expect(await clientOf(master).get("k")).toBe(null);
    await master.hang();
    await master.restart();
    expect(await clientOf(master).ping()).toBe("PONG");
  });
});

describe("refuseWrites", () => {
  test("not by anything else", async () => {
    const master = await startOne();
    expect(() => master.refuseWrites("FULL" as "OOM")).toThrow(
      "OOM, MISCONF, NOREPLICAS, READONLY, not by FULL",
    );
  });
});

describe("a master that is busy", () => {
  test("says so to each command but a greeting, until it is no longer, or restarted", async () => {
    const master = await startOne();
    const client = clientOf(master);
    await client.set("k", "v");
    master.beBusy(true);
    for (const send of [() => client.get("k"), () => client.info("server"), () => client.subscribe("c")])
      await expect(send()).rejects.toThrow(/^BUSY Redis is busy running a script/);
    expect(await client.hello(3)).toBeDefined();
    master.beBusy(false);
    expect(await client.get("k")).toBe("v");
    master.beBusy(true);
    await master.restart();
    expect(await clientOf(master).ping()).toBe("PONG");
  });
});

describe("a snapshot", () => {
  test.each(["reload", "resync"] as const)(
    "takes its data back by a %s; the process goes on",
    async (how) => {
      const master = await startOne();
      const client = clientOf(master);
      await client.select(1);
      await client.set("k", "old", "PX", 60_000);
      const before = runIdOf(await client.info("server"));
      const snapshot = master.snapshot();
      await client.set("k", "new");
      await client.set("later", "v");
      master[how](snapshot);
      expect(await client.mget("k", "later")).toEqual(["old", null]);
      expect(await client.pttl("k")).toBeGreaterThan(0);
      expect(runIdOf(await client.info("server"))).toBe(before);
      // Later writes do not change the snapshot.
      await client.set("k", "newer");
      master[how](snapshot);
      expect(await client.get("k")).toBe("old");
    },
  );
});

describe("an address that moves", () => {
  test("leads new connections to the other master, and back; those that exist stay", async () => {
    masters = await startEmbeddedMasters(2);
    const [home, away] = masters.list as [EmbeddedMaster, EmbeddedMaster];
    const early = clientOf(home);
    await early.set("k", "home");
    await clientOf(away).set("k", "away");
    home.move(away);
    const late = clientOf(home);
    expect([await early.get("k"), await late.get("k")]).toEqual(["home", "away"]);
    home.move(undefined);
    expect([await late.get("k"), await clientOf(home).get("k")]).toEqual(["away", "home"]);
  });
});

function runIdOf(info: string): string | undefined {
  return /run_id:(\w{40})/.exec(info)?.[1];
}

describe("hang", () => {
  test("accepts and answers nothing; after a resume it executes the received commands in order", async () => {
    const master = await startOne();
    const [early, other] = [clientOf(master), clientOf(master)];
    await Promise.all([early.ping(), other.ping()]);
    await master.hang();
    const answers: unknown[] = [];
    const late = clientOf(master);
    const connected = once(late, "connect");
    for (const reply of [early.set("k", "1"), early.exists("k", "k"), early.get("k")]) {
      void reply.then((answer) => answers.push(answer));
    }
    const lateAnswer = late.ping();
    void lateAnswer.then((answer) => answers.push(answer));
    await connected;
    // A second master in this process answers meanwhile, so there was time to.
    await using second = await startEmbeddedMasters(1);
    await clientOf(second.list[0]!).ping();
    expect(answers).toEqual([]);
    await master.resume();
    expect(await lateAnswer).toBe("PONG");
    expect(await other.get("k")).toBe("1");
    expect(answers.filter((answer) => answer !== "PONG")).toEqual(["OK", 2, "1"]);
  });

  test("is refused if no master runs", async () => {
    const master = await startOne();
    await master.kill();
    await expect(master.hang()).rejects.toThrow(/cannot hang .* not running/);
    await expect(master.resume()).rejects.toThrow(/cannot resume .* not running/);
  });
});

describe("a clock", () => {
  test("that drifts lets a key expire earlier or later, and keeps what it is ahead", async () => {
    const master = await startOne();
    const client = clientOf(master);
    const time = async (): Promise<number> => {
      const [seconds, micros] = await client.time();
      return Number(seconds) * 1000 + Number(micros) / 1000;
    };
    const began = Date.now();
    // A million ppm: twice as fast. Fifty thousand times as fast is an hour in less than a tenth of a second.
    master.drift(50_000 * 1e6);
    await client.set("k", "v", "PX", 3_600_000);
    await expect.poll(() => client.exists("k"), { timeout: 20_000 }).toBe(0);
    master.drift(0);
    const ahead = (await time()) - Date.now();
    expect(ahead).toBeGreaterThan(3_590_000);
    master.drift(-999_999);
    const slow = await time();
    await expect.poll(() => Date.now() - began, { timeout: 20_000 }).toBeGreaterThan(50);
    expect((await time()) - slow).toBeLessThan(50);
  });

  test("jumps both ways, and keys with it", async () => {
    const master = await startOne();
    const client = clientOf(master);
    await client.set("k", "v", "PX", 60_000);
    master.step(-60_000);
    expect(await client.pttl("k")).toBeGreaterThan(60_000);
    master.step(120_001);
    expect(await client.exists("k")).toBe(0);
  });

  test("cannot stand still, run backwards or be moved by nothing", async () => {
    const master = await startOne();
    for (const ppm of [-1e6, -2e6, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => master.drift(ppm)).toThrow(RangeError);
    }
    expect(() => master.step(Number.NaN)).toThrow(RangeError);
  });
});

/** Awaits a command of a client outside of the partition: an answer inside of it would have come by then. */
function answered(client: Redis): Promise<unknown> {
  return client.ping();
}

describe("partition", () => {
  test("keeps commands back, and delivers them after it; other routes go on", async () => {
    const master = await startOne();
    const [route] = (await masters.routes()).list;
    const [cut, other] = [clientOf(master), clientOf(route!)];
    await Promise.all([cut.ping(), other.ping()]);
    master.partition();
    let isAnswered = false;
    const setting = cut.set("k", "late").then(() => {
      isAnswered = true;
    });
    expect(await other.set("k", "early")).toBe("OK");
    await answered(other);
    expect([await other.get("k"), isAnswered]).toEqual(["early", false]);
    master.heal();
    await setting;
    expect(await other.get("k")).toBe("late");
  });

  test("of replies alone: commands are executed, and answered after it", async () => {
    const master = await startOne();
    const [route] = (await masters.routes()).list;
    const [cut, other] = [clientOf(route!), clientOf(master)];
    await Promise.all([cut.ping(), other.ping()]);
    route!.partition("replies");
    let isAnswered = false;
    const setting = cut.set("k", "v").then(() => {
      isAnswered = true;
    });
    await expect.poll(() => other.get("k"), { timeout: 20_000 }).toBe("v");
    expect(isAnswered).toBe(false);
    route!.heal();
    await setting;
  });

  test("knows two directions, and routes come back with a restart", async () => {
    const master = await startOne();
    expect(() => master.partition("requests" as "both")).toThrow("cuts both or replies, not requests");
    const [route] = (await masters.routes()).list;
    const { url } = route!;
    await master.kill();
    await expect(clientOf(route!).ping()).rejects.toThrow();
    await expect(master.route()).rejects.toThrow(/cannot open a route .* not running/);
    await master.restart();
    expect(await clientOf({ url }).ping()).toBe("PONG");
  });
});

describe("stop", () => {
  test("ends running, killed, hung and restarting masters for good; a second call does nothing", async () => {
    masters = await startEmbeddedMasters(4);
    const [, killed, hung, restarting] = masters.list as [
      EmbeddedMaster,
      EmbeddedMaster,
      EmbeddedMaster,
      EmbeddedMaster,
    ];
    await killed.kill();
    await hung.hang();
    const restart = restarting.restart();
    await masters.stop();
    await masters.stop();
    await restart.catch(() => {});
    for (const master of masters.list) {
      await expect(clientOf(master).ping()).rejects.toThrow();
      await expect(master.restart()).rejects.toThrow("stopped for good");
    }
  });

  test("is not needed: they do not keep the process alive", async () => {
    const program = `
      import { startEmbeddedMasters } from ${JSON.stringify(new URL("start-embedded-masters.ts", import.meta.url))};
      const masters = await startEmbeddedMasters(5);
      await masters.list[0].hang();
      console.log(masters.urls.length);
    `;
    const flags = [...sourceFlags, "--input-type=module", "--eval", program];
    const cwd = fileURLToPath(new URL("../..", import.meta.url));
    await using child = new Child(process.execPath, flags, { cwd });
    const { code, output } = await within(child.ended, 20_000, "the process did not end");
    expect([output, code]).toEqual(["5\n", 0]);
  });
});

describe("options", () => {
  test.each([0, -1, 1.5, Number.NaN])("%s masters are refused", async (count) => {
    await expect(startEmbeddedMasters(count)).rejects.toThrow(RangeError);
  });

  test("a password is in the url, and commands without it fail", async () => {
    const master = await startOne({ password: "p@ss/ word" });
    expect(await clientOf(master).get("k")).toBe(null);
    const { host, port } = master;
    await expect(clientOf({ url: `redis://${host}:${port}` }).get("k")).rejects.toThrow("NOAUTH HELLO");
    // Without HELLO, the command itself is refused.
    const old = clientOf({ url: `redis://${host}:${port}?protocol=2` });
    await expect(old.get("k")).rejects.toThrow("NOAUTH Authentication required.");
    await expect(clientOf({ url: `redis://:x@${host}:${port}` }).get("k")).rejects.toThrow();
  });

  test.each(["pässwörd €", ""])("its url opens a master with the password %j", async (password) => {
    expect(await clientOf(await startOne({ password })).ping()).toBe("PONG");
  });

  test("a script that is not the client's gets an error that says so", async () => {
    const client = clientOf(await startOne());
    await expect(client.eval("return 1", 0)).rejects.toThrow(/embedded master cannot do this: a script/);
    await expect(client.script("LOAD", "return 1")).rejects.toThrow(
      /embedded master cannot do this: a script/,
    );
    expect(await client.ping()).toBe("PONG");
  });
});
