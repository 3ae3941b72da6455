import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Masters, startMasters } from "@quorlock/testbed";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";

const program = fileURLToPath(new URL("candidate.ts", import.meta.url));
/** For a busy machine, ms: a time-out of a master, the pause of a candidate, and the way of a line to here. */
const slack = 2000;

let masters: Masters;
const candidates: Candidate[] = [];

beforeAll(async () => {
  masters = await startMasters(3, { say: () => {} });
});
afterEach(async () => {
  for (const { running } of candidates) running.kill("SIGKILL");
  await Promise.all(candidates.splice(0).map(({ exited }) => exited));
});
afterAll(() => masters?.stop());

/** A process that stands for election. */
class Candidate {
  readonly running: ChildProcess;
  readonly exited: Promise<number | null>;
  readonly said: string[] = [];
  complaints = "";

  constructor(ttl: number) {
    const source = ["--import", "tsx", "--conditions=quorlock-source"];
    this.running = spawn(process.execPath, [...source, program, `${ttl}`, ...masters.urls], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.exited = new Promise((resolve) => this.running.once("exit", (code) => resolve(code)));
    createInterface({ input: this.running.stdout! }).on("line", (line) => this.said.push(line));
    this.running.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.complaints += text;
    });
    candidates.push(this);
  }

  get leads(): boolean {
    return this.said.at(-1) === "leads";
  }
}

/** The first of them that leads, and after how long, ms. */
async function elected(among: readonly Candidate[], within: number): Promise<[Candidate, number]> {
  const begun = performance.now();
  await until("one of them leads", () => among.some(({ leads }) => leads), within);
  return [among.find(({ leads }) => leads)!, performance.now() - begun];
}

async function three(ttl: number): Promise<{ leader: Candidate; others: readonly Candidate[] }> {
  const all = [new Candidate(ttl), new Candidate(ttl), new Candidate(ttl)];
  const [leader] = await elected(all, 20_000);
  const others = all.filter((candidate) => candidate !== leader);
  for (const { said } of others) expect(said).toEqual([]);
  return { leader, others };
}

describe("three processes", () => {
  it("have another leader within the ttl when the first one is killed", async () => {
    const ttl = 3000;
    const { leader, others } = await three(ttl);
    leader.running.kill("SIGKILL");
    const [next, took] = await elected(others, ttl + slack);
    expect(took).toBeLessThan(ttl + slack);
    const [last] = others.filter((candidate) => candidate !== next);
    expect(last!.said).toEqual([]);
    next.running.kill("SIGKILL");
    await elected([last!], ttl + slack);
    for (const { complaints } of candidates) expect(complaints).toBe("");
  });

  it("have another leader at once when the first one quits, and that one exits by itself", async () => {
    const { leader, others } = await three(60_000);
    leader.running.stdin!.write("quit\n");
    const [next, took] = await elected(others, slack);
    expect(took).toBeLessThan(slack);
    expect(await leader.exited).toBe(0);
    expect(leader.said).toEqual(["leads", "stops", "over"]);
    next.running.stdin!.write("quit\n");
    await elected(
      others.filter((candidate) => candidate !== next),
      slack,
    );
    for (const { complaints } of candidates) expect(complaints).toBe("");
  });
});
