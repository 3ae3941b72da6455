import { type IoredisClient, IoredisConnection } from "../adapters/ioredis/ioredis.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { LockNode } from "../protocol/node.ts";
import { CommandQueue } from "../redis/command-queue.ts";
import { WatchingNode } from "./watching-node.ts";

/**
 * One for each client, however many Redlocks share it, on a connection that nothing else uses: what WATCH and MULTI
 * begin is a matter of the whole connection.
 */
const lines = new WeakMap<
  IoredisClient,
  { readonly connection: IoredisConnection; readonly line: CommandQueue }
>();

/**
 * The masters behind these clients, to be asked without Lua scripts: for servers and users to whom they are forbidden.
 * `new Redlock(withoutScripts(clients))` then locks with WATCH, MULTI and EXEC: extensions, releases and locks of
 * several resources take two round trips instead of one, one after the other. What takes scripts is refused: the
 * queue (waiting is asking again), group commit, fencing tokens, the restart guard.
 * @throws InvalidArgumentError for a Cluster: WATCH is for one connection.
 */
export function withoutScripts(clients: Iterable<IoredisClient>): readonly LockNode[] {
  return [...clients].map((client) => {
    if (client.isCluster) {
      throw new InvalidArgumentError(
        "a Cluster cannot be asked without scripts: WATCH is for one connection",
      );
    }
    let way = lines.get(client);
    if (!way) {
      const connection = new IoredisConnection(client);
      way = { connection, line: new CommandQueue(connection) };
      lines.set(client, way);
    }
    return new WatchingNode(way.connection, way.line);
  });
}
