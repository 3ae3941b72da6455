import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Plugin, TestProjectInlineConfiguration, ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base from "../../vitest.config.ts";
import { mutated, observed } from "./mutants.ts";
import type { Plan } from "./plan.ts";

// The project `fast`, whose client has a mutant. It is changed as it is loaded: the files stay as they are. The child
// processes of tests have no mutant.

const plan = JSON.parse(readFileSync(process.env["MUTATION_PLAN"]!, "utf8")) as Plan;
const { active } = plan;
const root = process.cwd();
const fileOf = (id: string): string => relative(root, id.split("?")[0]!);

function change(text: string, file: string): string {
  if (active !== undefined) return mutated(text, plan.mutants[active]!);
  return observed(
    text,
    [...plan.mutants.entries()].filter(([, mutant]) => mutant.file === file),
  );
}

const changed = new Set(
  (active === undefined ? plan.mutants : [plan.mutants[active]!]).map(({ file }) => file),
);
const mutation: Plugin = {
  name: "mutation",
  enforce: "pre",
  transform(text, id) {
    const file = fileOf(id);
    return changed.has(file) ? { code: change(text, file), map: null } : undefined;
  },
  configureVitest({ experimental_defineCacheKeyGenerator }) {
    // Kept, since its texts are the same for all other mutants, is what was not changed.
    experimental_defineCacheKeyGenerator(({ id }) => (changed.has(fileOf(id)) ? false : undefined));
  },
};

class InPlannedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = new Map(plan.order.map((file, place) => [file, place]));
    const placeOf = ({ moduleId }: TestSpecification): number => places.get(fileOf(moduleId)) ?? 0;
    return files.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

const { projects } = base.test!;
const fast = (projects as TestProjectInlineConfiguration[]).find(({ test }) => test?.name === "fast")!;

const config: ViteUserConfig = {
  ...fast,
  root,
  plugins: [mutation],
  test: {
    ...fast.test,
    includeTaskLocation: true,
    sequence: { sequencer: InPlannedOrder },
    experimental: { fsModuleCache: true },
    // One test at a time is observed.
    ...(active === undefined && { setupFiles: [".ci/mutation/recorder.ts"], maxConcurrency: 1 }),
  },
};

export default config;
