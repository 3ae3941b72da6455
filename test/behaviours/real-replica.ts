import {
  type Proxy as FaultProxy,
  type Masters,
  type Master as Server,
  startMasters,
  startProxy,
} from "@quorlock/testbed";
import { Redis } from "ioredis";
import { until } from "../contract/until.ts";

/** A server that can take the place of a master, with what it has copied from it. */
export class RealReplica {
  readonly server: Server;
  readonly admin: Redis;
  readonly #stream: FaultProxy;
  #isLate = false;

  private constructor(server: Server, stream: FaultProxy) {
    this.server = server;
    this.admin = adminOf(server);
    this.#stream = stream;
  }

  static async start(of: Server, server: Server): Promise<RealReplica> {
    return new RealReplica(server, await startProxy(of));
  }

  /** From now on it receives nothing. */
  async lag(): Promise<void> {
    await follow(this.admin, this.#stream);
    this.#stream.hold("replies");
    this.#isLate = true;
  }

  /** It is a master from now on, and has all that was written until it began to lag. */
  async promote(): Promise<void> {
    if (!this.#isLate) await follow(this.admin, this.#stream);
    await promote(this.admin);
  }

  /** As if it had followed nobody. */
  async forget(): Promise<void> {
    await promote(this.admin);
    await this.admin.flushall();
    this.#stream.reset();
    this.#stream.release();
    this.#isLate = false;
  }

  async stop(): Promise<void> {
    this.admin.disconnect();
    await this.#stream.stop();
  }
}

/** Masters that keep all that was acknowledged, and a replica for each of them, which are the second half of the list. */
export async function startCopied(
  count: number,
): Promise<Masters & { readonly replicas: readonly RealReplica[] }> {
  // They can load an old file, and send a copy as soon as they are asked for it.
  const config = ["--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"];
  const started = await startMasters(2 * count, { persistence: "aof-always", config, say: () => {} });
  const { list } = started;
  const replicas = await Promise.all(
    list.slice(count).map((server, index) => RealReplica.start(list[index]!, server)),
  );
  return { ...started, replicas };
}

export function adminOf({ port, host }: Server, keyPrefix = ""): Redis {
  const admin = new Redis(port, host, { keyPrefix });
  admin.on("error", () => {});
  return admin;
}

/** Resolves when `replica` has all that is there. */
export async function follow(replica: Redis, { host, port }: Pick<Server, "host" | "port">): Promise<void> {
  await replica.call("REPLICAOF", host, port);
  await until("the replica is in step", async () => {
    const state = await replica.info("replication");
    return state.includes("master_link_status:up") && state.includes("master_sync_in_progress:0");
  });
}

export async function promote(replica: Redis): Promise<void> {
  await replica.call("REPLICAOF", "NO", "ONE");
}
