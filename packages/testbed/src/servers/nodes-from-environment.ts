import { type Master, type Masters, mastersOf, type Unavailable, type WayOptions } from "../masters.ts";

const connectTimeoutMilliseconds = 3000;

/**
 * Masters named by `REDLOCK_NODES`, comma separated `redis://` or `rediss://` URLs; the first `count` are used. A user
 * who sets the variable means these nodes: any problem with them is an error, never a reason to use others.
 */
export async function mastersFromEnvironment(
  count: number,
  options: WayOptions,
): Promise<Masters | Unavailable> {
  const { REDLOCK_NODES = "" } = process.env;
  if (!REDLOCK_NODES.trim()) return { unavailable: "REDLOCK_NODES is not set" };
  const nodes = parseNodes(REDLOCK_NODES);
  if (nodes.length < count) {
    throw new Error(`REDLOCK_NODES names ${nodes.length} nodes, ${count} are needed: ${shown(nodes)}`);
  }
  const used = nodes.slice(0, count);
  const problems = (await Promise.all(used.map(problemOf))).filter((problem) => problem !== undefined);
  if (problems.length > 0) throw new Error(`REDLOCK_NODES: ${problems.join("; ")}`);
  if (options.persistence !== "none" || options.config.length > 0) {
    options.say("testbed: REDLOCK_NODES keep their own configuration, the one asked for is not applied");
  }
  options.say(`testbed: ${count} masters from REDLOCK_NODES: ${shown(used)}`);
  return mastersOf("REDLOCK_NODES", used.map(foreignMaster), async () => {});
}

/** The URLs of a `REDLOCK_NODES` value. Throws on a malformed one and on one named twice. */
export function parseNodes(value: string): URL[] {
  const nodes = value.split(",").map((part, index) => {
    const text = part.trim();
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^rediss?:$/.test(url.protocol) || !url.hostname) {
      throw new Error(`REDLOCK_NODES: entry ${index + 1} is not a redis:// URL: "${withoutPassword(text)}"`);
    }
    return url;
  });
  const places = nodes.map(placeOf);
  const twice = places.find((place, index) => places.indexOf(place) !== index);
  // One master that votes twice is no quorum.
  if (twice) throw new Error(`REDLOCK_NODES names ${twice} twice`);
  return nodes;
}

function placeOf(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}

function portOf(url: URL): number {
  return url.port ? Number(url.port) : 6379;
}

function shown(nodes: readonly URL[]): string {
  return nodes.map(placeOf).join(", ");
}

function withoutPassword(text: string): string {
  return text.replace(/:[^:@/]*@/, ":***@");
}

async function problemOf(url: URL): Promise<string | undefined> {
  // Loaded where it is wanted: mostly no nodes are named.
  const { Redis } = await import("ioredis");
  const client = new Redis(url.href, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMilliseconds,
    commandTimeout: connectTimeoutMilliseconds,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let failure: unknown;
  client.on("error", (error: unknown) => {
    failure ??= error;
  });
  try {
    await client.connect();
    await client.ping();
    return undefined;
  } catch (error) {
    return `${placeOf(url)} does not answer PING: ${String(failure ?? error)}`;
  } finally {
    client.disconnect();
  }
}

function foreignMaster(url: URL): Master {
  const refuse = (what: string) => async (): Promise<void> => {
    throw new Error(`cannot ${what} ${placeOf(url)}: it comes from REDLOCK_NODES and is not ours to control`);
  };
  return {
    // URL keeps the brackets of an IPv6 address; sockets want it bare.
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: portOf(url),
    url: url.href,
    controllable: false,
    kill: refuse("kill"),
    restart: refuse("restart"),
    hang: refuse("hang"),
    resume: refuse("resume"),
  };
}
