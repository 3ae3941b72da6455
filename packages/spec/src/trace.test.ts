import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisedPlan, type Recording, record } from "@quorlock/simulation";
import { clientScripts, theReadWriteLock, theSemaphore } from "@quorlock/simulation/mutants";
import { expect, test } from "vitest";
import { traceOfSoak } from "./soaked.ts";
import { converted, tracesOf } from "./trace.ts";
import { operationsOf } from "./wire.ts";

type Event = Recording["events"][number];

test("a trace has the steps of the first resource, with the clocks of the run in units of 10 us", async () => {
  const recording = await record(promisedPlan(15), { maxEvents: 2000 });
  const { masters, steps } = tracesOf(recording, "seed 15")[0]!;
  expect(masters).toBe(4);
  const kinds = new Set(steps.map(({ what }) => what));
  expect([...kinds].toSorted()).toEqual(["begins", "gives up", "resumes", "runs", "sends", "shows"]);
  const [vote] = steps.filter(({ what, took }) => what === "runs" && took);
  expect(vote).toMatchObject({ does: "vote", of: 1, round: 1, ttl: 16_800, winner: 1 });
});

test("a readers-writer lock is a plain one to one of its readers and to the writers", async () => {
  const options = { maxEvents: 2000, subject: theReadWriteLock } as const;
  const { name, attempts, steps } = tracesOf(await record(promisedPlan(15), options), "seed 15")[0]!;
  expect(name).toBe("seed 15, quorlock:rw:{resource-0}");
  expect(steps.filter(({ what }) => what === "gives").length).toBeGreaterThan(0);
  const holders = new Set(steps.flatMap(({ what, of }) => (what === "begins" ? [of] : [])));
  expect(holders.size).toBeGreaterThan(1);
  expect(attempts).toBeGreaterThanOrEqual(holders.size);
});

test("an extension of a key that is gone takes nothing before the repair in its batch", async () => {
  const recording = await record(promisedPlan(210), { maxEvents: 1500, subject: theSemaphore });
  const { steps } = tracesOf(recording, "seed 210")[0]!;
  const repair = steps.findIndex(({ what, does }) => what === "runs" && does === "repair");
  expect(steps[repair - 1]).toMatchObject({ what: "runs", does: "extend", took: false });
  expect(steps[repair]).toMatchObject({ took: true });
});

test("a trace ends before a master forgets", async () => {
  const faults = [{ kind: "flush", masters: [0], at: 50 }] as const;
  const recording = await record({ ...promisedPlan(8), faults }, { maxEvents: 4000 });
  const forgot = recording.events.find(({ actor }) => actor === "fault");
  const { steps } = tracesOf(recording, "seed 8")[0]!;
  const last = Number(/at (\d+) us/.exec(steps.at(-1)!.words)?.[1]);
  expect(last).toBeLessThanOrEqual(forgot!.at);
});

/** Of a run with one master, whose clock shows 1,000 ms at the beginning. */
function stepsOf(
  events: ReadonlyArray<readonly [at: number, actor: string, verb: string, ...args: unknown[]]>,
) {
  const given = events.map(([at, actor, verb, ...args]) => ({ at, actor, verb, args }) as Event);
  const clocks = ["master-0", "client-0"].map((actor) => ({
    at: 0,
    actor,
    verb: "clocks",
    args: [0, 1000, 0, false],
  }));
  const setting = {
    faults: [],
    clients: [],
    masters: [{ persistence: { mode: "aof-always" } }],
    settings: { driftFactor: 0.01 },
  } as const;
  return converted({ resource: "k", events: [...clocks, ...given], operationsOf }, setting, "").steps;
}

test("a key that has expired is gone before the clock of its master is set back", () => {
  const vote = ["SET", "k", "t.1", "NX", "PX", "100"];
  const voted = [
    [10, "client-0", "sends", "master-0", 1, ...vote],
    [20, "master-0", "keeps", "k", "t.1", 1100, "client-0"],
    [20, "master-0", "runs", "client-0", 1, "SET", "OK"],
  ] as const;
  const whatIsSeen = (at: number) =>
    stepsOf([...voted, [at, "master-0", "clocks", at / 1000, 500, 0, false]]).filter(
      ({ what, of }) => what === "shows" && of === 0,
    );
  expect(whatIsSeen(99_000)).toEqual([]);
  expect(whatIsSeen(102_000)).toMatchObject([{ to: 1, until: 0 }]);
});

test("a vote of a later round may renew the key behind other operations of its batch", () => {
  const { sha1 } = clientScripts.batchScript;
  const batch = ["EVALSHA", sha1, "2", "k", "k", "2q1,100,5;", "other.1", "inbox", "t.2", "inbox"];
  const steps = stepsOf([
    [10, "client-0", "sends", "master-0", 1, "SET", "k", "t.1", "NX", "PX", "100"],
    [20, "master-0", "keeps", "k", "t.1", 1100, "client-0"],
    [20, "master-0", "runs", "client-0", 1, "SET", "OK"],
    [1010, "client-0", "sends", "master-0", 2, ...batch],
    [1020, "master-0", "keeps", "k", "t.1", 1101, "client-0"],
    [1020, "master-0", "keeps", "k", "t.2", 1101, "client-0"],
    [1020, "master-0", "runs", "client-0", 2, "EVALSHA", "1,t.1,99,5,0"],
  ]);
  const run = steps.filter(({ what }) => what === "runs").map(({ of, round, took }) => [of, round, took]);
  expect(run).toEqual([
    [1, 2, true],
    [2, 2, false],
    [1, 3, true],
  ]);
});

test("a step that gives a key names those who wait for it and stand before its winner", () => {
  const { enqueueScript, leaveScript } = clientScripts;
  const enters = (at: number, waiter: string, line: string) =>
    [
      [
        at,
        "client-0",
        "sends",
        "master-0",
        at,
        "EVALSHA",
        enqueueScript.sha1,
        "1",
        "k",
        `${waiter}.1`,
        "100",
        "5",
      ],
      [at + 1, "master-0", "notes", "quorlock:queue:{k}", line, 2000, "client-0"],
      [at + 1, "master-0", "runs", "client-0", at, "EVALSHA", "1,t.1,99,5"],
    ] as const;
  const winnerAfter = (winner: string) =>
    stepsOf([
      [10, "client-0", "sends", "master-0", 1, "SET", "k", "t.1", "NX", "PX", "100"],
      [20, "master-0", "keeps", "k", "t.1", 1100, "client-0"],
      [20, "master-0", "runs", "client-0", 1, "SET", "OK"],
      ...enters(30, "first", "first 5"),
      ...enters(40, "second", "first 5,second 6"),
      [50, "client-0", "sends", "master-0", 5, "EVALSHA", leaveScript.sha1, "1", "k", "t.1"],
      [60, "master-0", "keeps", "k", `${winner}.1`, 1100, "client-0"],
      [60, "master-0", "runs", "client-0", 5, "EVALSHA", "1"],
    ]).find(({ does, took }) => does === "delete" && took);
  expect(winnerAfter("first")).toMatchObject({ winner: 2, ahead: [] });
  expect(winnerAfter("second")).toMatchObject({ winner: 3, ahead: [2] });
});

test("the operations of a command are read in the order of its keys", () => {
  expect(operationsOf("SET", ["k", "t.1", "NX", "PX", "500"])).toEqual([
    { does: "vote", key: "k", token: "t.1", ttl: 500 },
  ]);
  expect(operationsOf("GET", ["k"])).toEqual([]);
});

test("in a record of the soak, a release that sets the key over its own grants it", () => {
  const entries = [
    { at: 5000.2, source: "1.1.1.1:1", args: ["SET", "k", "holder.1", "NX", "PX", "1000"] },
    {
      at: 5001,
      source: "1.1.1.1:2",
      args: ["EVALSHA", clientScripts.enqueueScript.sha1, "1", "k", "waiter.1", "1000", "5"],
    },
    { at: 5001.1, source: "lua", args: ["ZADD", "quorlock:queue:{k}", "5", "waiter"] },
    {
      at: 5002,
      source: "1.1.1.1:1",
      args: ["EVALSHA", clientScripts.leaveScript.sha1, "1", "k", "holder.1"],
    },
    { at: 5002.1, source: "lua", args: ["SET", "k", "waiter.1", "PX", "1000"] },
  ].map((entry) => ({ master: 0, ...entry }));
  const folder = mkdtempSync(join(tmpdir(), "quorlock-record-"));
  try {
    writeFileSync(join(folder, "record.json"), JSON.stringify({ key: "k", masters: 1, entries, holds: [] }));
    const { steps } = traceOfSoak(join(folder, "record.json"));
    expect(steps.filter(({ of }) => of === -1)).toEqual([]);
    expect(steps.find(({ what, does }) => what === "runs" && does === "delete")).toMatchObject({
      took: true,
      winner: 2,
      until: 1_000_100_200,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
