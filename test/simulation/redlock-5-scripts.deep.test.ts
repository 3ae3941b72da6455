import { Random } from "@quorlock/simulation";
import { expect, test } from "vitest";
// The package has no name for what stands in for a peer: this test is for just that.
import { Keyspace } from "../../packages/simulation/src/master/keyspace.ts";
import { RedisModel } from "../../packages/simulation/src/master/redis-model.ts";
import { redlock5 } from "../../packages/simulation/src/peers/redlock-5.ts";
import { scriptsOf } from "../../packages/simulation/src/peers/redlock-5-module.ts";
import { redlock5Package } from "../../packages/simulation/src/peers/redlock-5-package.ts";
import { oneMaster } from "./one-master.ts";

// The compiled scripts against their Lua in a real redis-server: random sequences of the package's own scripts and of what else may befall a key. Every ttl is far longer than the test, so no clock has a part in it.

const sequences = 500;
const commandsInOne = 16;
const keys = ["a", "b", "c"] as const;

type Line = readonly [string, ...string[]];

const redis = oneMaster();

function line(random: Random, scripts: ReadonlyArray<readonly [string, string]>): Line {
  const key = random.pick(keys);
  const choice = random.integer(0, 11);
  if (choice === 0) return ["SET", key, random.pick(["v1", "v2"]), "PX", "90000"];
  if (choice === 1) return ["DEL", key];
  if (choice === 2) return ["RPUSH", key, "x"];
  if (choice === 3) return ["SET", key, "v1"];
  const [source, sha1] = random.pick(scripts);
  const first = random.integer(0, 2);
  const names = random.chance(0.5) ? [key] : [keys[first]!, keys[(first + 1) % 3]!];
  const args = [random.pick(["v1", "v2", "v3"]), random.pick(["60000", "60000", "80000", "0", "x"])];
  const [command, script] = random.chance(0.7) ? ["EVALSHA", sha1] : ["EVAL", source];
  return [command, script, String(names.length), ...names, ...args];
}

/** A script's error is told with the server's own line numbers: its first word has to do. */
function comparable(reply: unknown): string {
  return reply instanceof Error ? `error ${reply.message.split(" ")[0]}` : JSON.stringify(reply);
}

function modelReply(model: RedisModel, [command, ...args]: Line): string {
  try {
    return comparable(model.execute(command, args, 0));
  } catch (error) {
    return comparable(error);
  }
}

async function realReply([command, ...args]: Line): Promise<string> {
  return comparable(
    await redis()
      .call(command, ...args)
      .catch((error: unknown) => error),
  );
}

/** Value, or what kind of thing is there, and the ttl: on the real server a little has passed of it. */
async function realState(): Promise<readonly unknown[]> {
  const state = keys.map(async (key) => [
    await redis()
      .get(key)
      .catch(() => "no string"),
    Math.ceil((await redis().pttl(key)) / 10_000),
  ]);
  return Promise.all(state);
}

function modelState(model: RedisModel): readonly unknown[] {
  return keys.map((key) => {
    const entry = model.keyspace.get(key, 0);
    const value = entry ? (typeof entry.value === "string" ? entry.value : "no string") : null;
    const ttl = entry ? (entry.expiresAt ?? -1) : -2;
    return [value, Math.ceil(ttl / 10_000)];
  });
}

test("redlock 5's scripts do in the model what they do in Redis", async () => {
  await redlock5();
  const own = scriptsOf(await redlock5Package()).values();
  const scripts = Array.from(own, ({ source, sha1 }) => [source, sha1] as const);
  const counts = new Map<string, number>();
  for (let sequence = 0; sequence < sequences; sequence += 1) {
    const random = new Random(sequence, "redlock 5");
    await redis().pipeline().flushall().call("SCRIPT", "FLUSH").exec();
    const model = new RedisModel(new Keyspace(), "x");
    const story: string[] = [];
    for (let index = 0; index < commandsInOne; index += 1) {
      const command = line(random, scripts);
      const real = await realReply(command);
      story.push(`${JSON.stringify(command)}: ${real}`);
      expect(modelReply(model, command), story.join("\n")).toBe(real);
      counts.set(real, (counts.get(real) ?? 0) + 1);
    }
    expect(modelState(model), story.join("\n")).toEqual(await realState());
  }
  // Every kind of answer was among them.
  for (const reply of ["0", "1", "2", "error NOSCRIPT", "error WRONGTYPE", "error ERR"])
    expect(counts.get(reply) ?? 0, reply).toBeGreaterThan(10);
}, 120_000);
