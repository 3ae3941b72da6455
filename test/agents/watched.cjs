// Locks in a process that an agent watches. Prints what the agent has recorded, and the secrets that the masters were sent.

const events = require("node:events");
const { connect } = require("node:net");
const { createInterface } = require("node:readline");
const agents = require("./agents.cjs");

const [agentName, library, cluster, ...urls] = process.argv.slice(2);
const secrets = new Set();

/** A token is enough to release a lock, and whoever knows an inbox can grant locks. */
async function monitor(url) {
  const socket = connect(new URL(url).port, "127.0.0.1");
  const lines = createInterface(socket);
  lines.on("line", (line) => {
    for (const [secret] of line.matchAll(/(?<![\da-f])[\da-f]{32}(?![\da-f])/g)) secrets.add(secret);
  });
  const isHeard = events.once(lines, "line");
  socket.write("MONITOR\r\n");
  await isHeard;
}

async function clientsOf() {
  const { createClient, Redis } = require(library);
  const isNodeRedis = library.startsWith("redis");
  const clients = urls.map((url) => (isNodeRedis ? createClient({ url }) : new Redis(url)));
  for (const client of clients) client.on("error", () => {});
  if (isNodeRedis) await Promise.all(clients.map((client) => client.connect()));
  return clients;
}

async function useLocks() {
  const { Redlock } = await import("@quorlock/redlock");
  const { ReadWriteLock } = await import("@quorlock/redlock/read-write-lock");
  const { Semaphore } = await import("@quorlock/redlock/semaphore");
  const { withoutScripts } = await import("@quorlock/redlock/without-scripts");
  const [one, other] = [new Redlock(await clientsOf()), new Redlock(await clientsOf())];
  await Promise.all([one.ready(), other.ready()]);
  const lock = await one.acquire(["watched", "as well"], 20_000);
  const waiting = other.acquire(["watched"], 20_000, { waitTimeout: 10_000 });
  while ((await one.inspect("watched")).some(({ waiters }) => waiters.length === 0));
  await lock.extend(20_000);
  await lock.release();
  await (await waiting).release();
  const crowd = await Promise.all(
    Array.from({ length: 20 }, (_, index) => one.acquire(`crowd:${index}`, 20_000)),
  );
  await Promise.all(crowd.map((each) => each.release()));
  await new Semaphore(one, "permits", 2).using(20_000, () => {});
  await new ReadWriteLock(one, "report").usingWrite(20_000, (_signal, writing) => writing.downgrade());
  const plain = new Redlock(withoutScripts(await clientsOf()));
  await plain.ready();
  await (await plain.acquire("plain", 20_000)).release();
  await Promise.all([one, other, plain].map((redlock) => redlock.quit()));
  const { Cluster } = require(library);
  // (Those of node-redis are refused.)
  if (!library.startsWith("redis")) await useCluster(new Redlock(new Cluster([cluster])));
}

async function useCluster(redlock) {
  await redlock.ready();
  await (await (await redlock.acquire("sharded", 20_000)).extend(20_000)).release();
  await redlock.quit();
}

async function main() {
  const agent = await agents[agentName]();
  await Promise.all([cluster, ...urls].map(monitor));
  await agent.run(useLocks);
  const told = JSON.stringify(await agent.told());
  process.stdout.write(JSON.stringify({ told, secrets: [...secrets] }), () => process.exit());
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
