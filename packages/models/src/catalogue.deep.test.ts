import { describe, expect, it } from "vitest";
import { catalogue } from "./catalogue.ts";
import { checkMutant, checkProtocol } from "./check.ts";
import { Fencing, fencingMutants } from "./protocols/fencing.ts";
import { readersWriterMutants } from "./protocols/readers-writer.ts";
import { guardMutants } from "./protocols/restart-guard.ts";
import { Semaphore, semaphoreMutants } from "./protocols/semaphore.ts";
import { queueMutants } from "./protocols/ticket-queue.ts";
import { explore } from "./search/explore.ts";

// The larger ones are searched by `pnpm models`; their mutants are found soon, so they are looked for here.
const timeout = 300_000;

describe.each(catalogue)("$protocol, $bounds", (check) => {
  if (check.level === "quick") {
    it("holds", { timeout }, async () => expect(await checkProtocol(check)).toMatchObject({ passed: true }));
  }
  if (check.level !== "deep" && check.mutants.length > 0) {
    it.each(check.mutants)("finds out: $name", { timeout }, async (mutant) =>
      expect(await checkMutant(check, mutant)).toMatchObject({ passed: true }),
    );
  }
  it("fails if its limit is below the number of states", { timeout }, async () => {
    const { passed, lines } = await checkProtocol({ ...check, limit: 100 });
    expect(passed).toBe(false);
    expect(lines[0]).toContain("unfinished: more than 100 states");
  });
});

describe("every model", () => {
  it("has the same result without symmetry", { timeout }, () => {
    const bounds = { waiters: [1, 2], proposals: [1, 2], counters: [0] };
    const each = explore(new Fencing(bounds), { limit: 200_000, symmetry: false });
    const one = explore(new Fencing(bounds), { limit: 200_000 });
    expect([each.verdict, one.verdict]).toEqual(["holds", "holds"]);
    expect(one.depth).toBe(each.depth);
    expect(each.states).toBeGreaterThan(4 * one.states);
    expect(each.states).toBeLessThanOrEqual(one.symmetry * one.states);
    const mutant = new Semaphore({ attempts: 3 }, "each node admits as many as there are permits");
    expect(explore(mutant, { limit: 1_000_000, symmetry: false }).story).toHaveLength(
      explore(mutant, { limit: 1_000_000 }).story.length,
    );
  });

  it("is searched for each of its mutants", () => {
    const all = [fencingMutants, guardMutants, queueMutants, semaphoreMutants, readersWriterMutants].flat();
    const lookedFor = catalogue.filter(({ level }) => level !== "deep").flatMap(({ mutants }) => mutants);
    expect(new Set(lookedFor.map(({ name }) => name))).toEqual(new Set(all));
  });

  it("is identified by protocol and bounds", () => {
    const names = catalogue.map(({ protocol, bounds }) => `${protocol}, ${bounds}`);
    expect(new Set(names).size).toBe(names.length);
  });
});
