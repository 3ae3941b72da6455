import { type NodeError, Redlock } from "@quorlock/redlock";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import OldestRedis from "ioredis-5.0";
import { Redis as Valkey } from "iovalkey";
import { expect, onTestFinished, test, vi } from "vitest";

// Tools that measure commands replace `sendCommand`, and look at the promise of each command. Commands of locks have none that
// anybody awaits.

interface Command {
  readonly promise: Promise<unknown>;
}
type SendCommand = (this: object, command: Command, ...rest: readonly unknown[]) => unknown;

test.each([
  ["ioredis 6", Redis],
  ["ioredis 5", Redis5],
  ["ioredis 5.0", OldestRedis as unknown as typeof Redis],
  ["iovalkey", Valkey as unknown as typeof Redis],
])("%s, patched by a tool that chains on the promise of each command", async (_, AnyRedis) => {
  await using master = await startMasters(1, { say: () => {} });
  const prototype = AnyRedis.prototype as unknown as { sendCommand: SendCommand };
  const { sendCommand } = prototype;
  let seen = 0;
  const count = (): void => {
    seen += 1;
  };
  prototype.sendCommand = function (command, ...rest) {
    const sent = sendCommand.call(this, command, ...rest);
    void command.promise.then(count, count);
    void command.promise.catch(() => {}).finally(count);
    return sent;
  };
  onTestFinished(() => {
    prototype.sendCommand = sendCommand;
  });
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  onTestFinished(() => void process.off("unhandledRejection", unhandled));

  const client = new AnyRedis(master.urls[0]!);
  client.on("error", () => {});
  const redlock = new Redlock(client, { retryCount: 0, nodeTimeout: 900 });
  const errors: NodeError[] = [];
  redlock.on("error", (error) => errors.push(error));
  await redlock.ready();
  const before = seen;
  const lock = await redlock.acquire("r", 5000);
  expect(await redlock.tryAcquire("r", 5000)).toBeNull();
  await lock.extend(5000);
  expect((await lock.release()).outcome).toBe("released");
  expect(seen).toBeGreaterThanOrEqual(before + 8);
  expect(errors).toEqual([]);
  // Commands that fail: refused, and lost.
  await client.call("CONFIG", "SET", "maxmemory", "1");
  await expect(redlock.acquire("r", 5000)).rejects.toThrow("OOM");
  await master.stop();
  await expect(redlock.acquire("r", 5000)).rejects.toThrow("No quorum");
  await redlock.quit();
  expect(unhandled).not.toHaveBeenCalled();
});
