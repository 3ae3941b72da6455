import { Child, type Ending } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { bundled } from "./bundled.ts";
import { scenarios } from "./scenarios.ts";

// PROTOCOL 5.11, 12.11.

const program = await bundled(new URL("child.ts", import.meta.url));

/** A process needs some 50 ms to exit; the rest is for a busy machine, ms. */
const slack = 4000;
/** ioredis's `disconnectTimeout`: so long it waits for a connection to close that its master does not close, ms. */
const disconnectTimeout = 2000;

/** The time a process may need to exit after its last act, ms. */
function boundOf(name: string): number {
  if (!/hung|dead|died/.test(name)) return slack;
  // Our connections follow the user's client: they begin to close when that one is closed.
  return slack + disconnectTimeout * (name.startsWith("the clients") ? 2 : 1);
}

/** Whether it gives everything back before it ends. */
function quits(name: string): boolean {
  return /quit|blocked/.test(name) && !/hung|dead|died|the clients/.test(name);
}

interface Outcome extends Ending {
  /** Keys, where it quit and its masters are there: read at once, long before any ttl is over. */
  readonly left: readonly string[];
}

interface World {
  readonly masters: Masters;
  readonly child: Child;
}

const acts: Record<string, (world: World) => Promise<unknown>> = {
  "hang all": ({ masters }) => Promise.all(masters.list.map((master) => master.hang())),
  kill: ({ masters }) => Promise.all(masters.list.slice(1).map((master) => master.kill())),
  "kill all": ({ masters }) => Promise.all(masters.list.map((master) => master.kill())),
  async terminate({ child }) {
    child.process.kill("SIGTERM");
  },
};

/** The keys that the child left behind. */
async function keysLeft(masters: Masters): Promise<readonly string[]> {
  const left: string[] = [];
  for (const url of masters.urls) {
    const redis = new Redis(url);
    left.push(...(await redis.keys("*")));
    redis.disconnect();
  }
  return left;
}

async function run(name: string, masters: Masters): Promise<Outcome> {
  const child = Child.node(program, [name, ...masters.urls]);
  const world: World = { masters, child };
  for (let line = await child.line(0), next = 1; line !== "over"; next += 1) {
    void acts[line]!(world).then(() => child.process.stdin!.write("done\n"));
    line = await child.line(next);
  }
  const killer = setTimeout(() => child.process.kill("SIGKILL"), boundOf(name));
  const ending = await child.ended;
  clearTimeout(killer);
  const left = quits(name) ? await keysLeft(masters) : [];
  return { ...ending, left };
}

describe.concurrent("a process exits, without an error:", () => {
  it.each(Object.keys(scenarios))("%s", async (name) => {
    await using masters = await startMasters(3, { say: () => {} });
    const ending = await run(name, masters);
    expect(ending.errors).toBe("");
    expect(ending.output).toMatch(/(^|\n)over\n$/);
    // SIGKILL means that something kept it alive.
    expect({ code: ending.code, signal: ending.signal }).toEqual({ code: 0, signal: null });
    expect(ending.left).toEqual([]);
  });
});
