import { env } from "node:process";
import { Redlock } from "@quorlock/redlock";
import { contract } from "@quorlock/testing/contract";
import { Redis } from "ioredis";
// The package makes connections of clients and exports no function for it.
import { connectionOf } from "../../packages/redlock/src/adapters/client-libraries.ts";
import { serverCases } from "./server-cases.ts";

// Run by Bun, see bun.deep.test.ts.

type RedisClient = Parameters<typeof connectionOf>[0];

declare const Bun: {
  readonly RedisClient: new (url: string, options?: { readonly autoReconnect: boolean }) => RedisClient;
};

/** The types of Bun are not installed. */
const frameworkOfBun: string = "bun:test";
const framework = (await import(frameworkOfBun)) as NonNullable<Parameters<typeof contract>[0]["framework"]> &
  Parameters<typeof serverCases>[0];

contract({
  framework,
  name: "Bun.RedisClient",
  redis: env["MASTER"]!,
  connect: ({ url }) => connectionOf(new Bun.RedisClient(url, { autoReconnect: false })),
});

serverCases(
  framework,
  {
    asksServer: true,
    open: (port) => new Bun.RedisClient(`redis://127.0.0.1:${port}`),
    get: (client: { get(key: string): Promise<unknown> }, key) => client.get(key),
    close: (client: { close(): void }) => client.close(),
  },
  () => {
    const [first, second] = [env["MASTER"]!, env["SECOND_MASTER"]!].map((url) => new URL(url));
    return [serverAt(first!), serverAt(second!)];
  },
);

function serverAt({ hostname, port }: URL): { readonly host: string; readonly port: number } {
  return { host: hostname, port: Number(port) };
}

const { it, expect }: Parameters<typeof serverCases>[0] = framework;
const port = Number(new URL(env["MASTER"]!).port);
const guarded = { restartGuard: { maxTtl: 60_000 }, nodeTimeout: 2000, retryCount: 0 };

it("guarded beside ioredis in one database, neither puts the master into quarantine", async () => {
  const url = `redis://127.0.0.1:${port}/3`;
  const others = new Redlock([new Redis(url)], guarded);
  const redlock = new Redlock([new Bun.RedisClient(url)], guarded);
  await others.initialize();
  for (let time = 0; time < 2; time += 1) {
    for (const each of [others, redlock]) await (await each.acquire("guarded", 10_000)).release();
  }
  await Promise.all([others.quit(), redlock.quit()]);
});

it("without the right to learn the database, the restart guard is refused, and locks without it are granted", async () => {
  const admin = new Redis(port);
  await admin.call("ACL", "SETUSER", "blind", "on", ">blind", "~*", "&*", "+@all", "-client|info");
  const client = new Bun.RedisClient(`redis://blind:blind@127.0.0.1:${port}/3`);
  const refused = new Redlock([client], guarded).acquire("unguarded", 10_000);
  const why = await refused.then(() => "granted", String);
  expect(why.includes("does not allow its user to run CLIENT INFO")).toBe(true);
  const plain = new Redlock([client], { nodeTimeout: 2000, retryCount: 0 });
  await (await plain.acquire("unguarded", 10_000)).release();
  await plain.quit();
  await admin.call("ACL", "DELUSER", "blind");
  admin.disconnect();
});

it("a client that quit keeps answers afterwards, and Quorlock's connections have ended", async () => {
  const admin = new Redis(port);
  const connections = async (): Promise<number> =>
    String(await admin.client("LIST")).match(/^id=.* db=5 /gm)?.length ?? 0;
  const client = new Bun.RedisClient(`redis://127.0.0.1:${port}/5`) as RedisClient & {
    send(command: string, words: readonly string[]): Promise<unknown>;
    close(): void;
  };
  await client.send("PING", []);
  const redlock = new Redlock([client], { nodeTimeout: 2000, retryCount: 0 });
  await redlock.acquire("kept", 10_000);
  await redlock.quit({ keepClients: true });
  expect(await client.send("EXISTS", ["kept"])).toBe(0);
  for (let tries = 0; (await connections()) > 1 && tries < 5000; tries += 1);
  expect(await connections()).toBe(1);
  client.close();
  admin.disconnect();
});

it("a client that quit has closed serves locks again once its user has connected it, whatever is lost after that", async () => {
  const client = new Bun.RedisClient(`redis://127.0.0.1:${port}/6`) as RedisClient & {
    connect(): Promise<unknown>;
    send(command: string, words: readonly string[]): Promise<unknown>;
  };
  const open = () => new Redlock([client], { nodeTimeout: 2000, retryCount: 0 });
  const redlock = open();
  await (await redlock.acquire("again", 10_000)).release();
  await redlock.quit();
  const refused = open().acquire("again", 10_000);
  const outcome = await refused.then(
    () => "granted",
    () => "refused",
  );
  expect(outcome).toBe("refused");
  await client.connect();
  const next = open();
  // There is a pause between two first connections.
  const retries = { retryCount: 100, retryDelay: 20 };
  await (await next.acquire("again", 10_000, retries)).release();
  const admin = new Redis(port);
  const kept = String(await client.send("CLIENT", ["ID"]));
  for (const [, id] of String(await admin.client("LIST")).matchAll(/^id=(\d+) .* db=6 /gm)) {
    if (id !== kept) await admin.client("KILL", "ID", Number(id));
  }
  await (await next.acquire("again", 10_000, retries)).release();
  const pending = client.send("BLPOP", ["nothing", "0.2"]);
  pending.catch(() => {});
  await next.quit();
  expect(await pending).toBe(null);
  admin.disconnect();
});
