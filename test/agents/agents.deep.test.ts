import { Child, sourceFlags } from "@quorlock/simulation/processes";
import { clusterConfig, formCluster, type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// The records of agents about locks. They change client libraries as these are loaded, each in a way of its own, so each runs in
// a process of its own, and nothing of it is a stand-in: only what it sends goes nowhere.

/** Each agent, and the libraries whose commands it records. */
const agents: Readonly<Record<string, readonly string[]>> = {
  opentelemetry: ["redis", "redis-5", "ioredis", "ioredis-5"],
  "dd-trace": ["redis", "redis-5"],
  newrelic: ["redis", "redis-5", "ioredis", "ioredis-5"],
  "elastic-apm-node": [],
  "@sentry/node": ["redis", "redis-5"],
};
const libraries = ["redis", "redis-5", "ioredis", "ioredis-5", "iovalkey"];

let masters: Masters;
let cluster: Masters;
beforeAll(async () => {
  masters = await startMasters(3, { say: () => {} });
  cluster = await startMasters(1, { config: clusterConfig, say: () => {} });
  const admin = new Redis(cluster.urls[0]!);
  await formCluster([admin]);
  admin.disconnect();
});
afterAll(async () => {
  await masters?.stop();
  await cluster?.stop();
});

describe.each(Object.entries(agents))("%s", (agent, recorded) => {
  it.each(libraries)(
    "records no token and no inbox of locks by %s",
    async (library) => {
      const program = new URL("watched.cjs", import.meta.url);
      await using child = Child.node(program, [agent, library, ...cluster.urls, ...masters.urls], {
        flags: sourceFlags,
      });
      const { output, errors } = await child.ended;
      const { told, secrets } = JSON.parse(output || JSON.stringify({ told: errors, secrets: [] })) as {
        readonly told: string;
        readonly secrets: readonly string[];
      };
      expect(secrets.length, told).toBeGreaterThan(20);
      const shown = secrets.filter((secret) => told.includes(secret)).map((secret) => told.indexOf(secret));
      expect(shown.map((place) => told.slice(Math.max(0, place - 200), place + 40))).toEqual([]);
      // It watches: commands on this key are among what it has recorded, where it knows the library.
      if (recorded.includes(library)) expect(told).toContain("watched");
    },
    60_000,
  );
});
