/** What is used of a connection of ioredis to a Cluster. */
interface Connected {
  nodes?(
    role: "all",
  ): ReadonlyArray<{ readonly options: { readonly host?: string; readonly port?: number } }>;
}

/** A run id. (Some proxies make one up, of zeros.) */
const runId = /^run_id:(?!0+\r?$)(\S+)/m;

/**
 * What names the servers behind a connection that has just been made (PROTOCOL 2.9): the run id of the process, or the addresses of
 * all masters and replicas of a Cluster, as this process reaches them. Empty where it cannot be told. `ask` sends `INFO server`;
 * missing where the server must not be asked: some proxies close the connection instead of an answer.
 */
export async function serverIdsOf(
  connected: Connected,
  ask: (() => Promise<unknown>) | undefined,
): Promise<readonly string[]> {
  if (connected.nodes) return connected.nodes("all").map(({ options }) => `${options.host}:${options.port}`);
  // Not allowed, or the connection is lost again.
  const info = await ask?.().catch(() => undefined);
  const found = typeof info === "string" ? runId.exec(info)?.[1] : undefined;
  return found === undefined ? [] : [found];
}
