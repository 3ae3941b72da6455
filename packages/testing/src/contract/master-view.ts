import type { MasterView } from "./driver.ts";

/** Inspects a master on a separate connection: `send` resolves to the reply of a command. */
export function masterViewOf(
  send: (...words: [string, ...string[]]) => Promise<unknown>,
  keyPrefix = "",
): MasterView {
  return {
    async get(resource) {
      return (await send("GET", keyPrefix + resource)) as string | null;
    },
    async pttl(resource) {
      return Number(await send("PTTL", keyPrefix + resource));
    },
    async set(resource, value, ttl) {
      const expiry = ttl === undefined ? [] : ["PX", String(ttl)];
      await send("SET", keyPrefix + resource, value, ...expiry);
    },
    async setList(resource) {
      await send("RPUSH", keyPrefix + resource, "not a lock");
    },
    async remove(resource) {
      await send("DEL", keyPrefix + resource);
    },
    async place(resource, waiter) {
      const key = keyPrefix + resource;
      const tagged = key.includes("{") ? `tagged:${key}` : `{${key}}`;
      return Number(await send("PTTL", `quorlock:queue:${tagged}:${waiter.slice(0, 20)}`));
    },
    async listeners(channel) {
      return Number(((await send("PUBSUB", "NUMSUB", channel)) as readonly unknown[])[1]);
    },
    async forgetScripts() {
      await send("SCRIPT", "FLUSH");
    },
  };
}
