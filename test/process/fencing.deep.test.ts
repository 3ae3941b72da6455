import { Child } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { until } from "../contract/until.ts";
import type { FencingTask } from "./fencing-worker.ts";

const program = new URL("fencing-worker.ts", import.meta.url);
const grants = 1000;
const record = { holds: "holds", latest: "latest", inversions: "inversions" };
const minute = 60_000;

it("tokens grow over a thousand holds of several processes, while masters are restarted one after the other", async () => {
  // Each write is on disk before it is answered: no master forgets one.
  const config = ["--appendonly", "yes", "--appendfsync", "always"];
  await using masters = await startMasters(3, { config, say: () => {} });
  await using elsewhere = await startMasters(1, { say: () => {} });
  const store = new Redis(elsewhere.urls[0]!);
  const task = { urls: masters.urls, store: elsewhere.urls[0]!, resource: "fenced", grants, record };
  // One has a clock that is a minute behind the others', one is a minute ahead.
  const workers = [0, 0, -minute, minute].map((clockOffset) =>
    Child.node(program, [JSON.stringify({ ...task, clockOffset } satisfies FencingTask)]),
  );
  try {
    for (let restarts = 1; restarts <= 6; restarts += 1) {
      const due = (restarts * grants) / 8;
      await until(
        () => `${due} holds`,
        async () => Number(await store.get(record.holds)) >= due,
        60_000,
      );
      await masters.list[restarts % 3]!.kill();
      await masters.list[restarts % 3]!.restart();
    }
    const endings = await Promise.all(workers.map(({ ended }) => ended));
    expect(endings).toMatchObject(workers.map(() => ({ code: 0, errors: "" })));
    expect(await store.lrange(record.inversions, 0, -1)).toEqual([]);
    expect(Number(await store.get(record.holds))).toBeGreaterThanOrEqual(grants);
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    store.disconnect();
  }
}, 180_000);
