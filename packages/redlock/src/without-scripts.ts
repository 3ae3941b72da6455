import { InvalidArgumentError } from "./errors.ts";
import { type IoredisClient, IoredisConnection } from "./ioredis.ts";
import { WatchingNode } from "./watching-node.ts";

/** What only a script can do, by its option. With `scripts: false` none of it can be switched on. */
const needScripts: ReadonlyMap<string, string> = new Map([
  ["queue", "a queue"],
  ["groupCommit", "group commit"],
  ["fencing", "fencing tokens"],
  ["restartGuard", "the restart guard"],
]);

/** Checks the options of a Redlock without scripts. */
export function checkWithoutScripts(options: object): void {
  for (const [name, what] of needScripts) {
    const value = (options as Record<string, unknown>)[name];
    if (value === undefined || value === false) continue;
    throw new InvalidArgumentError(`${name} cannot be had with scripts: false: ${what} takes scripts`);
  }
}

/**
 * One for each client, however many Redlocks share it, on a connection that nothing else uses: what WATCH and MULTI
 * begin is a matter of the whole connection.
 */
const nodes = new WeakMap<IoredisClient, WatchingNode>();

/** The master behind the client, to be asked without scripts. */
export function watchingNodeOf(client: IoredisClient): WatchingNode {
  if (client.isCluster) {
    throw new InvalidArgumentError(
      "scripts: false cannot be had with a Cluster: WATCH is for one connection",
    );
  }
  let node = nodes.get(client);
  if (!node) {
    node = new WatchingNode(new IoredisConnection(client));
    nodes.set(client, node);
  }
  return node;
}
