import { InvalidArgumentError } from "../../errors.ts";
import { memberOf } from "../members.ts";
import type { ClusterOptions, NodeRedisClient } from "./client.ts";

// All members of node-redis that its documentation does not name. Each was tried on node-redis 5.0, 5.12, 6.0 and 6.3, and
// hidden once.
//
// | member                   | why                                             | public road                 | fails without it                                    |
// | ------------------------ | ----------------------------------------------- | --------------------------- | --------------------------------------------------- |
// | `socketEpoch`            | closed before the Redlock was made              | counts as never opened      | node-redis.deep "locks end with the user's client"  |
// | options of a Cluster     | its nodes, prefix and options of this moment    | none: the client is refused | contract, "node-redis 6, Cluster"                   |
// | `nodes[].client` written | a client that dials is destroyed after its dial | none                        | ended-while-dialing.deep "dropped at once", Cluster |

/** Whether a client was connected before. Public road: none; it counts as one that was never opened. */
export function wasConnected(client: object): boolean {
  return Number(memberOf(client, "socketEpoch")) > 0;
}

/**
 * The options of a Cluster client, as they are now. They are not public, but `duplicate` passes them to the constructor of
 * its class. Public road: none; the client is refused.
 */
export function clusterOptionsOf(cluster: NodeRedisClient): ClusterOptions {
  let taken: ClusterOptions | undefined;
  // (Called as a constructor, so it cannot be an arrow function.)
  function take(options: ClusterOptions): void {
    taken = options;
  }
  // A wrapper may have bound the method to the Cluster, which stands behind it.
  for (const own of [cluster, Object.getPrototypeOf(cluster) as object]) {
    const prototype: object = Object.create(own, { constructor: { value: take } });
    const duplicate = async (): Promise<unknown> => (Object.create(prototype) as NodeRedisClient).duplicate();
    // (It fails on what is no Cluster.)
    duplicate().catch(() => {});
    if (taken) return taken;
  }
  throw new InvalidArgumentError("its options cannot be read: pass it itself, and no wrapper of it");
}

/** Takes the clients of these nodes out of their Cluster, which would destroy them. Public road: none. */
export function takeOut(nodes: Iterable<{ client?: unknown }>): void {
  for (const node of nodes) node.client = undefined;
}
