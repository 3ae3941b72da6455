import type { IoredisClient, IoredisOptions } from "./client.ts";
import { startupNodesOf } from "./private.ts";

export function addressOf({ host, port }: IoredisOptions): string {
  return `${host}:${port}`;
}

export function nameOf(client: IoredisClient, isCluster: boolean): string {
  const options = client.options as IoredisOptions;
  if (isCluster) {
    const [first] = startupNodesOf(client);
    if (typeof first === "object") return `cluster at ${addressOf(first)}`;
    if (first === undefined) return "cluster";
    return `cluster at ${typeof first === "string" ? addressIn(first) : first}`;
  }
  if (options.path !== undefined) return pathIn(options.path);
  return options.sentinels ? options.name! : `${options.host}:${options.port}`;
}

/** A path. To ioredis, a URL with an unknown scheme is one as well, and may contain a password. */
function pathIn(path: string): string {
  return path.includes("@") || path.includes("?") ? addressIn(path) : path;
}

/** The error of a connection, without what {@link pathIn} hides: ioredis quotes the path. */
export function withoutPath(error: Error, path: string | undefined): Error {
  if (path === undefined || pathIn(path) === path) return error;
  return new Error(error.message.replaceAll(path, () => pathIn(path)));
}

/** The host and port of a URL, which may contain a password before them and behind them. Nothing else of it is shown. */
function addressIn(url: string): string {
  const [, host, rest = ""] = /^(?:(?:[a-z]+:)?\/\/)?(?:[^/?#@]*@)?([^/?#@]*)(.*)$/is.exec(url) ?? [];
  const isPlain =
    host !== undefined && /^(\[[\da-f:.]+\]|[\w.-]+)(:\d+)?$/i.test(host) && !rest.includes("@");
  return isPlain ? host : "an unusual address";
}
