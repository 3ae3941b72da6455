import type { Framework } from "@quorlock/testing/contract";
import { expect } from "vitest";

type Step = () => Promise<void> | void;

interface Case {
  readonly title: string;
  readonly run: Step;
  readonly before: readonly Step[];
}

/** The cases of a suite, to be run one by one. */
export interface Cases {
  readonly titles: readonly string[];
  /** Runs one case between the hooks of the suite; returns the error that it fails with. */
  run(title: string): Promise<unknown>;
}

/** Declares a suite and returns its cases, instead of running them. */
export function casesOf(declare: (framework: Framework) => void): Cases {
  const cases: Case[] = [];
  const first: Step[] = [];
  const after: Step[] = [];
  const last: Step[] = [];
  let before: readonly Step[] = [];
  declare({
    describe(_, inner) {
      const outer = before;
      inner();
      before = outer;
    },
    it: (title, run) => cases.push({ title, run, before }),
    beforeAll: (step) => first.push(step),
    beforeEach(step) {
      before = [...before, step];
    },
    afterEach: (step) => after.push(step),
    afterAll: (step) => last.push(step),
    expect,
  });
  return {
    titles: cases.map(({ title }) => title),
    async run(title) {
      const found = cases.find((each) => each.title === title);
      if (found === undefined) throw new Error(`there is no case "${title}"`);
      for (const step of first) await step();
      try {
        for (const step of [...found.before, found.run]) await step();
        return undefined;
      } catch (error) {
        return error;
      } finally {
        for (const step of [...after, ...last]) await step();
      }
    },
  };
}
