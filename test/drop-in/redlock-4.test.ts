import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fleet, fresh } from "../integration/fleet/fleet.ts";
import { rowsOf } from "./bench.ts";
import { Bench4 } from "./bench-4.ts";
import { ofRedlock4, ofUsers } from "./cases-4.ts";
import { differences4 } from "./differences-4.ts";

// redlock 4.2.0's own tests, and what its users rely on, run with either library on the same masters.

const fleet = Fleet.forTests(3);

describe.each([
  ["redlock 4", "ioredis", 3],
  ["redlock 4", "ioredis", 1],
  ["quorlock", "ioredis", 3],
  ["quorlock", "ioredis", 1],
  ["quorlock", "node-redis 6", 3],
  ["quorlock", "node-redis 5", 1],
] as const)("%s with %s, %i servers:", (library, client, count) => {
  const bench = new Bench4(library, fleet, client, count);
  // The first command of a client waits for its connection, and its master gets to know the scripts.
  beforeAll(() => bench.held(fresh("warm-up")));
  afterAll(() => bench.close());

  test.concurrent.each(Object.entries({ ...ofRedlock4, ...ofUsers }))("%s", (_, run) => run(bench));
});

test("the cases are those of redlock 4.2.0's own tests, but for three that differ", () => {
  expect(Object.keys(ofRedlock4)).toHaveLength(56 - 3);
});

describe("quorlock differs from redlock 4 as the table says:", () => {
  const benches = [new Bench4("redlock 4", fleet), new Bench4("quorlock", fleet)] as const;
  afterAll(() => {
    for (const bench of benches) bench.close();
  });

  test.each(Object.entries(differences4))("%s", async (_, { line, theirs, ours }) => {
    expect([await line(benches[0]), await line(benches[1])]).toEqual([theirs, ours]);
  });
});

test("quit ends a call of quorlock that pauses before its next attempt", async () => {
  const bench = new Bench4("quorlock", fleet);
  const redlock = bench.redlock({ retryCount: -1, retryDelay: 600_000 });
  const resource = fresh();
  await redlock.lock(resource, 60_000);
  const waiting = redlock.lock(resource, 60_000);
  // On the same connections, behind the first attempt of that call.
  expect(await redlock.quorlock.tryAcquire(resource, 60_000)).toBeNull();
  await Promise.all([redlock.quit(), expect(waiting).rejects.toThrow("Exceeded")]);
});

test("the table has a row for each line that differs, and no other", () => {
  expect(rowsOf("redlock-4/README.md")).toEqual(Object.keys(differences4));
});
