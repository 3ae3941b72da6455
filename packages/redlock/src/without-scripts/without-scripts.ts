import { isCluster, newConnection, type RedisClient } from "../adapters/client-libraries.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { LockNode } from "../protocol/node.ts";
import { shown } from "../settings/ranges.ts";
import { keptFor } from "../time/kept.ts";
import { MasterWithoutScripts } from "./transaction-wire.ts";

/**
 * Nodes that use these clients without Lua scripts, for servers and users that may not run them. `new
 * Redlock(withoutScripts(clients))` locks with WATCH, MULTI and EXEC: extensions, releases and locks of
 * several resources take two round trips instead of one, one after the other. Features that need scripts are
 * missing: the queue (waiting means retrying), group commit, fencing tokens, the restart guard.
 * @throws InvalidArgumentError for what is no client, and for a Cluster: WATCH works on a single connection only.
 * @example
 * ```ts
 * const redlock = new Redlock(withoutScripts(clients));
 * ```
 */
export function withoutScripts(clients: Iterable<RedisClient>): readonly LockNode[] {
  if (!(Symbol.iterator in Object(clients)))
    throw new InvalidArgumentError(`withoutScripts takes a list of clients, not ${shown(clients)}`);
  return [...clients].map((client) => {
    if (isCluster(client)) {
      throw new InvalidArgumentError(
        "a Cluster cannot be used without scripts: WATCH works on a single connection only",
      );
    }
    return new MasterWithoutScripts(keptFor("transactions", client, () => newConnection(client)));
  });
}
