import { type LockNode, RedisNode } from "@quorlock/redlock/internal";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
// The package makes nodes of clients and exports no function for it.
import { connectionOf, type RedisClient } from "../../packages/redlock/src/adapters/client-libraries.ts";
import { ask } from "./ask.ts";
import type { RedisDriverOptions } from "./redis-driver.ts";
import { until } from "./until.ts";

interface Options {
  host?: string;
  port?: number;
  url?: string;
  socket?: { port?: number };
}

type AnyClient = RedisClient & {
  readonly options: Options;
  readonly isOpen?: boolean;
  call?(...words: string[]): Promise<unknown>;
  sendCommand(words: string[]): Promise<unknown>;
};

const token = "token-of-place";

/**
 * The contract of each client library that a connection counts only where the user's client is (PROTOCOL 2.18), whatever
 * address the options of the client have by then.
 */
export function placeCases(name: string, options: RedisDriverOptions): void {
  describe(`LockNode: ${name}: a client whose options have come to lead elsewhere`, () => {
    let masters: Masters;
    let admins: readonly Redis[];
    const opened: LockNode[] = [];

    beforeAll(async () => {
      masters = await startMasters(2, { config: options.config ?? [], say: () => {} });
      const { password, database = 0 } = options;
      const rights = password === undefined ? {} : { password };
      admins = masters.list.map(({ port, host }) => new Redis(port, host, { ...rights, db: database }));
    });
    afterEach(() => {
      for (const node of opened.splice(0)) node.disconnect();
    });
    afterAll(async () => {
      for (const admin of admins) admin.disconnect();
      await masters.stop();
    });

    /** A client that is connected to the first master. */
    const connected = async (): Promise<AnyClient> => {
      const [first] = masters.list;
      const client = options.client(first!.port, first!) as AnyClient;
      client.on("error", () => {});
      if (client.isOpen === false || (client as { status?: string }).status === "wait")
        await (client as unknown as { connect(): Promise<unknown> }).connect();
      await idOf(client);
      return client;
    };
    const nodeOf = (client: RedisClient): LockNode => {
      const isScripted = options.scripts ?? true;
      const node = isScripted ? new RedisNode(connectionOf(client)) : withoutScripts([client])[0]!;
      opened.push(node);
      return node;
    };
    const valueAt = (master: number, resource: string): Promise<string | null> =>
      admins[master]!.get((options.keyPrefix ?? "") + resource);
    /** Until it is told that both are at different servers; nothing is locked at the second one. */
    const untilRefused = async (node: LockNode, resource: string): Promise<void> => {
      // (In a container the port is another one there.)
      const both = /its options lead to server \w+, but it is connected to port \d+, server \w+: give/;
      await until("both servers are told", async () => {
        const answer = await ask(node).vote(claimOf(resource));
        return answer.is === "fault" && both.test(answer.error.message);
      });
      expect(await valueAt(1, resource)).toBeNull();
    };

    it("locks nothing there, at its first connection", async () => {
      const client = await connected();
      lead(client, masters.list[1]!.port);
      await untilRefused(nodeOf(client), "place:first");
    });

    it("locks nothing there, after a connection was lost", async () => {
      const client = await connected();
      const node = nodeOf(client);
      expect(await ask(node).vote(claimOf("place:before"))).toMatchObject({ is: "yes" });
      expect(await valueAt(0, "place:before")).toBe(token);
      lead(client, masters.list[1]!.port);
      const kept = [await idOf(client), String(await admins[0]!.client("ID"))];
      for (const [, id] of String(await admins[0]!.client("LIST")).matchAll(/^id=(\d+)/gm))
        if (!kept.includes(id!)) await admins[0]!.client("KILL", "ID", id!);
      await untilRefused(node, "place:again");
    });
  });
}

function claimOf(resource: string) {
  return { resources: [resource], token, ttl: 60_000, abandoned: false };
}

async function idOf(client: AnyClient): Promise<string> {
  const words = ["CLIENT", "ID"];
  return String(await (client.call ? client.call(...words) : client.sendCommand(words)));
}

function lead({ options }: AnyClient, port: number): void {
  if (options.url !== undefined) options.url = options.url.replace(/:\d+(?=\/|$)/, `:${port}`);
  if (options.socket) options.socket = { ...options.socket, port };
  else options.port = port;
}
