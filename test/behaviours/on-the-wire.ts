import assert from "node:assert/strict";
import { type Behaviour, behaviour, type Master } from "./bench.ts";
import { failed, held, lifetimesOn, occupy, untilGone, votesFor, within } from "./looking.ts";

/** From now on the master answers with a number that is not exact. */
async function lie(master: Master, resource: string): Promise<void> {
  await master.call("SET", `quorlock:fence:${resource}`, (2n ** 53n).toString());
}

/** Section 13 of docs/protocol.md. */
export const onTheWire: readonly Behaviour[] = [
  behaviour(
    "13.1",
    "The key is the resource, its value the token, set with its expiry in one command",
    async (bench) => {
      const { masters } = bench;
      const tap = await masters[0]!.tap();
      const { lock } = await held(bench, 2000);
      const commands = (await tap.commands()).filter((words) => words.includes("r"));
      assert.deepEqual(commands, [["SET", "r", lock.value, "NX", "PX", "2000"]]);
      assert.match(lock.value, /^[0-9a-f]{32}/);
      await lock.release();
      await untilGone(bench, masters, "r");
    },
    {
      masters: 1,
      notOn: {
        "without scripts": "SET, without NX and behind a WATCH, may renew the key",
        "a Cluster": "its vote is a script",
      },
    },
  ),

  behaviour(
    "13.1",
    "What is done to a lock on several resources is one command, and a refusal asks once whose it is",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock();
      const tap = await masters[0]!.tap();
      const lock = await redlock.acquire(["r", "s"], 2000);
      await lock.extend(2000);
      assert.equal(await lock.verify(), true);
      assert.equal((await lock.release()).outcome, "released");
      assert.equal((await tap.commands()).length, 4);
      await occupy(masters, "r");
      const before = (await tap.commands()).length;
      assert.equal(await redlock.tryAcquire("r", 2000), null);
      await time.pass(20);
      const sent = (await tap.commands()).slice(before);
      assert.deepEqual(
        sent.map(([command]) => command),
        ["SET", "EVALSHA"],
      );
    },
    {
      masters: 1,
      notOn: {
        "without scripts": "a transaction takes several commands",
        "a Cluster": "its vote is a script",
      },
    },
  ),

  behaviour(
    "13.1",
    "A lock, and one of another library on the same key, exclude each other",
    async (bench) => {
      const { masters } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      for (const master of masters)
        assert.equal(await master.call("SET", "r", "another library", "NX", "PX", 2000), null);
      await lock.release();
      await untilGone(bench, masters, "r");
      await occupy(masters, "r");
      assert.equal(await redlock.tryAcquire("r", 2000), null);
      for (const left of await lifetimesOn(masters, "r")) within(bench, left, 59_000, 60_000, "what is left");
    },
    { masters: 1 },
  ),

  behaviour(
    "13.2",
    "All keys beside those of resources begin with quorlock:",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await bench.redlock({
        owner: "someone",
        fencing: true,
        restartGuard: { maxTtl: 2000 },
        clockWatch: true,
      });
      await redlock.initialize();
      const lock = await redlock.acquire(["r", "s"], 2000);
      const waiting = time.took(redlock.acquire("r", 2000, { waitTimeout: 1000 }));
      const seen = new Set<string>();
      const look = async () => {
        for (const key of await masters[0]!.keys()) seen.add(key);
      };
      for (let round = 0; round < 20; round += 1) await look().then(() => time.pass(10));
      await lock.release();
      assert.equal((await waiting).error, undefined);
      await look();
      const others = [...seen].filter((key) => key !== "r" && key !== "s");
      assert.equal(seen.size - others.length, 2);
      assert.ok(others.length > 5, `they are ${others.join(", ")}`);
      for (const key of others) assert.ok(key.startsWith("quorlock:"), `${key} is a key`);
    },
    {
      masters: 1,
      notOn: { "without scripts": "the options need scripts", "a Cluster": "it refuses the options" },
    },
  ),

  behaviour(
    "13.3",
    "A master that answers with a number that is none has not voted",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await bench.redlock({ fencing: true });
      await lie(masters[0]!, "any");
      assert.equal(await votesFor(redlock), 2);
      for (const master of masters.slice(0, 2)) await lie(master, "r");
      failed(await time.took(redlock.acquire("r", 2000)), "NO_QUORUM");
      await untilGone(bench, masters, "r");
    },
    { masters: 3, notOn: { "without scripts": "fencing needs scripts" } },
  ),
];
