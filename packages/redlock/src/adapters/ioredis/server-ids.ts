/** The used part of an ioredis Cluster client. */
interface ClusterClient {
  nodes?(
    role: "all",
  ): ReadonlyArray<{ readonly options: { readonly host?: string; readonly port?: number } }>;
}

/** A run id. Some proxies return one of zeros. */
const runId = /^run_id:(?!0+\r?$)(\S+)/m;

/**
 * Identifies the servers behind a new connection (PROTOCOL 2.9): the run id of the process, or the addresses
 * of all masters and replicas of a Cluster as this process reaches them. Empty if unknown. `ask` sends `INFO
 * server`; missing if the server must not be asked: some proxies close the connection instead of answering.
 */
export async function serverIdsOf(
  connected: ClusterClient,
  ask: (() => Promise<unknown>) | undefined,
): Promise<readonly string[]> {
  if (connected.nodes) return connected.nodes("all").map(({ options }) => `${options.host}:${options.port}`);
  // Not allowed, or the connection was lost again.
  const info = await ask?.().catch(() => undefined);
  const found = typeof info === "string" ? runId.exec(info)?.[1] : undefined;
  return found === undefined ? [] : [found];
}
