import { isCluster, newConnection, type RedisClient } from "../adapters/client-libraries.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { LockNode } from "../protocol/node.ts";
import { shown } from "../settings/ranges.ts";
import { CommandQueue } from "./command-queue.ts";
import { WatchingNode } from "./watching-node.ts";

/**
 * One for each client, shared by all Redlocks, on a connection of its own: WATCH and MULTI apply to a whole
 * connection.
 */
const queues = new WeakMap<
  RedisClient,
  { readonly connection: ReturnType<typeof newConnection>; readonly line: CommandQueue }
>();

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
    let entry = queues.get(client);
    if (!entry) {
      const connection = newConnection(client);
      entry = { connection, line: new CommandQueue(connection) };
      queues.set(client, entry);
    }
    return new WatchingNode(entry.connection, entry.line);
  });
}
