import { type Connection, type LockNode, RedisNode } from "@quorlock/redlock/internal";
import { startEmbeddedMasters } from "@quorlock/simulation/embedded";
import { startProxy } from "@quorlock/testbed/proxy";
import { AdminConnection } from "./admin-connection.ts";
import type { Driver, DriverMaker } from "./driver.ts";
import type { Framework } from "./framework.ts";
import { lockNodeContract } from "./lock-node-contract.ts";
import { masterViewOf } from "./master-view.ts";
import { pathThrough } from "./proxy-path.ts";

/** The address of a proxy that delays and cuts the connection to the master. */
export interface Address {
  readonly host: string;
  readonly port: number;
  /** The same, with the user, the password and the database of the master's url. */
  readonly url: string;
}

export interface ContractOptions {
  /** The name of the adapter under test. */
  readonly name: string;
  /** A new connection, or a new node, of your adapter. Each call is for another client. */
  connect(address: Address): Connection | LockNode;
  /** Whether `connect` returns nodes; a connection has other cases. Default false. */
  readonly makesNodes?: boolean | undefined;
  /**
   * The url of a Redis or Valkey for this suite alone: it writes keys and flushes cached scripts. Default: an
   * embedded master.
   */
  readonly redis?: string | undefined;
  /**
   * How waiters are served: "pushes" if your connection subscribes, "heartbeats" if it does not, "none" for a node
   * without a queue. Default "pushes".
   */
  readonly queue?: "pushes" | "heartbeats" | "none" | undefined;
  /** Whether its nodes store fencing tokens. Default true. */
  readonly keepsCounters?: boolean | undefined;
  /** The prefix that your client puts before every key. Default: none. */
  readonly keyPrefix?: string | undefined;
  /** `describe`, `it`, `expect` and so on: `import * as vitest from "vitest"`. Default: the globals, as Jest has them. */
  readonly framework?: Framework | undefined;
}

/**
 * Declares the tests that every adapter of a client library has to pass, with `describe` and `it`: FIFO order, nothing
 * sent late or twice, each answer once, and the effects of votes, extensions, releases and queues on a master. Call it
 * in a test file.
 */
export function contract(options: ContractOptions): void {
  const { name, queue = "pushes", keepsCounters = true, makesNodes = false, framework } = options;
  const start = (): Promise<Driver> => driverOf(options);
  const makeDriver: DriverMaker = Object.assign(start, {
    queue,
    keepsCounters,
    makesConnections: !makesNodes,
  });
  lockNodeContract(name, makeDriver, framework);
}

async function driverOf(options: ContractOptions): Promise<Driver> {
  const { redis, keyPrefix } = options;
  const masters = redis === undefined ? await startEmbeddedMasters(1) : undefined;
  const target = new URL(redis ?? masters!.urls[0]!);
  const admin = await AdminConnection.to(target);
  const proxy = await startProxy({ host: target.hostname, port: Number(target.port || 6379) });
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String(proxy.port);
  const address: Address = { host: "127.0.0.1", port: proxy.port, url: url.href };
  return {
    master: masterViewOf((...words) => admin.send(...words), keyPrefix),
    path: pathThrough(proxy),
    connect() {
      const made = options.connect(address);
      return isNode(made) ? made : new RedisNode(made);
    },
    connectOnly() {
      const made = options.connect(address);
      if (!isNode(made)) return made;
      made.disconnect();
      throw new Error("connect has returned a LockNode: pass makesNodes: true");
    },
    async [Symbol.asyncDispose]() {
      admin.close();
      await proxy.stop();
      await masters?.stop();
    },
  };
}

function isNode(made: Connection | LockNode): made is LockNode {
  return !("send" in made);
}
