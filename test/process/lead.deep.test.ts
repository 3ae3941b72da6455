import { Child } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";

const program = new URL("candidate.ts", import.meta.url);
/** For a busy machine, ms: a time-out of a master, the pause of a candidate, and the way of a line to here. */
const slack = 2000;
/** Less than any ttl, ms: the time that a busy machine may need for a process that is notified. */
const atOnce = 10_000;

let masters: Masters;
const candidates: Child[] = [];

beforeAll(async () => {
  masters = await startMasters(3, { say: () => {} });
});
afterEach(async () => {
  await Promise.all(candidates.splice(0).map((candidate) => candidate.kill()));
});
afterAll(() => masters?.stop());

/** A process that stands for election. */
function stand(ttl: number): Child {
  const candidate = Child.node(program, [`${ttl}`, ...masters.urls]);
  candidates.push(candidate);
  return candidate;
}

const leads = ({ lines }: Child): boolean => lines.at(-1) === "leads";

/** The first of them that leads, and after how long, ms. */
async function elected(among: readonly Child[], within: number): Promise<[Child, number]> {
  const begun = performance.now();
  await until("one of them leads", () => among.some(leads), within);
  return [among.find(leads)!, performance.now() - begun];
}

async function three(ttl: number): Promise<{ leader: Child; others: readonly Child[] }> {
  const all = [stand(ttl), stand(ttl), stand(ttl)];
  const [leader] = await elected(all, 20_000);
  const others = all.filter((candidate) => candidate !== leader);
  for (const { lines } of others) expect(lines).toEqual([]);
  return { leader, others };
}

describe("three processes", () => {
  it("have another leader within the ttl when the first one is killed", async () => {
    const ttl = 3000;
    const { leader, others } = await three(ttl);
    leader.process.kill("SIGKILL");
    const [next, took] = await elected(others, ttl + slack);
    expect(took).toBeLessThan(ttl + slack);
    const [last] = others.filter((candidate) => candidate !== next);
    expect(last!.lines).toEqual([]);
    next.process.kill("SIGKILL");
    await elected([last!], ttl + slack);
    for (const { errors } of candidates) expect(errors).toBe("");
  });

  it("have another leader at once when the first one quits, and that one exits", async () => {
    const { leader, others } = await three(60_000);
    leader.process.stdin!.write("quit\n");
    const [next, took] = await elected(others, atOnce);
    expect(took).toBeLessThan(atOnce);
    expect(await leader.ended).toMatchObject({ code: 0 });
    expect(leader.lines).toEqual(["leads", "stops", "over"]);
    next.process.stdin!.write("quit\n");
    await elected(
      others.filter((candidate) => candidate !== next),
      atOnce,
    );
    for (const { errors } of candidates) expect(errors).toBe("");
  });
});
