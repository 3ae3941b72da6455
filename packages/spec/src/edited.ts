import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Bounds, configFor, nameOf, type Part } from "./catalogue.ts";
import { actionsIn, type Edit, editedModule, editsIn, type Judged } from "./edits.ts";
import type { SearchOptions, Task } from "./searches.ts";
import { check, type Found, modules, TlcError } from "./tlc.ts";
import type { Tools } from "./tools.ts";

/** Of each module the edits that TLC accepts, with the reason why each is no fault. */
const reasons: Readonly<Record<string, Readonly<Record<string, string>>>> = JSON.parse(
  readFileSync(join(modules, "accepted-edits.json"), "utf8"),
);

/** The edits of these modules. It is a failure if one is accepted without a reason, or refuted with one. */
export function judgementsOf(tools: Tools, parts: readonly Part[], options: SearchOptions): readonly Task[] {
  const { quick, say, tally } = options;
  const judged = parts.filter((part) => part.quickEdits || !quick);
  const judging = async (part: Part): Promise<void> => {
    const began = performance.now();
    const its = await judge(tools, part, options);
    const wrong = wrongIn(nameOf(part.module), its);
    tally.failures += wrong.length;
    tally.judged.push(...its);
    const refuted = its.filter((one) => one.refuted !== undefined).length;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    say(`${nameOf(part.module)}: ${refuted} of ${its.length} edits refuted: ${seconds} s`);
    for (const line of wrong) say(`  FAILED: ${line}`);
  };
  return judged.map((part) => ({ isLong: true, run: () => judging(part) }));
}

function wrongIn(module: string, judged: readonly Judged[]): readonly string[] {
  const names = new Set(judged.map(({ edit }) => edit.name));
  const gone = Object.keys(reasons[module] ?? {}).filter((name) => !names.has(name));
  const wrong = judged.flatMap(({ edit, refuted, why }) => {
    if (refuted === undefined)
      return why === undefined ? [`accepted, and no reason is listed: ${edit.name}`] : [];
    return why === undefined ? [] : [`listed, but ${refuted}: ${edit.name}`];
  });
  return [...wrong, ...gone.map((name) => `listed, but there is no such edit: ${name}`)];
}

/** The most that the edits of a module may take within some bounds, s. */
const limit = 3600;

const module = "Edited";
/** An edit may take the bounds of a search away. Each search of a module as it is ends before this depth. */
const depth = 60;

/** Of each edit of a module, what refutes it: one search has all of them, each with a state space of its own. */
async function judge(tools: Tools, part: Part, options: SearchOptions): Promise<readonly Judged[]> {
  const name = nameOf(part.module);
  const text = readFileSync(join(modules, `${name}.tla`), "utf8");
  const base = join(modules, `${/^EXTENDS (\w+)$/m.exec(text)?.[1]}.tla`);
  const elsewhere = existsSync(base) ? actionsIn(readFileSync(base, "utf8")) : [];
  const edits = editsIn(text, new Set(elsewhere));
  const refuted = new Map<number, string>();
  const unreached = new Set(part.reaches);
  const edited = editedModule(text, edits);
  for (const bounds of part.bounds.filter(({ edits: isFor }) => isFor)) {
    const search = bounds.temporal ? searchAlone : searchTogether;
    const isJudged = (edit: Edit): boolean =>
      bounds.edits === true || bounds.edits!.some((definition) => edit.name.startsWith(`${definition}:`));
    const left = (): number[] =>
      edits.flatMap((edit, index) => (refuted.has(index + 1) || !isJudged(edit) ? [] : [index + 1]));
    const texts = { [name]: edited, [module]: moduleOf(part, bounds) };
    const found = async (numbers: readonly number[], isLong: boolean): Promise<Found> => {
      const config = configOf(part, bounds, numbers);
      const its = await check(tools, { module, texts, config, isLong }, limit, options.interrupted);
      for (const goal of unreached) if (isReached(its, 0, goal)) unreached.delete(goal);
      return its;
    };
    await search(left, refuted, found, part);
  }
  for (const goal of unreached) options.say(`${name}: FAILED, never reached: ${goal}`);
  options.tally.failures += unreached.size;
  return edits.map((edit, index) => {
    const by = refuted.get(index + 1);
    return { module: name, edit, refuted: by, why: reasons[name]?.[edit.name] };
  });
}

type Search = (numbers: readonly number[], isLong: boolean) => Promise<Found>;

/** Invariants, steps, and what has to be reached. The module as it is, number 0, goes with them. */
async function searchTogether(
  left: () => number[],
  refuted: Map<number, string>,
  search: Search,
  part: Part,
): Promise<void> {
  for (;;) {
    const found = await search([0, ...left()], true).catch((error: unknown) => {
      if (error instanceof TlcError) return error;
      throw error;
    });
    const { output } = found;
    for (const [, number, by] of output.matchAll(/^<<(\d+), "(\w+)">>$/gm)) refuted.set(Number(number), by!);
    if (refuted.has(0))
      throw new TlcError(`${part.module}: ${refuted.get(0)} is violated without an edit`, output);
    if (!(found instanceof TlcError)) {
      for (const number of left()) {
        const missed = part.reaches?.find(
          (goal) => isReached(found, 0, goal) && !isReached(found, number, goal),
        );
        if (missed !== undefined) refuted.set(number, `${missed} is not reached`);
      }
      return;
    }
    // An edit may take a value away that is asked for.
    const number = Number(
      /^\s*(?:\/\\ )?edit = (\d+)/m.exec(output.slice(output.indexOf("Error:")))?.[1] ?? 0,
    );
    if (number === 0 || refuted.has(number)) throw found;
    refuted.set(number, "a value that there is not");
  }
}

/** Number 0 is the module as it is. */
function isReached({ output }: Found, number: number, goal: string): boolean {
  return output.includes(`<<${number}, "reaches", "${goal}">>`);
}

/** Liveness: TLC judges one such property, and ends. */
async function searchAlone(
  left: () => number[],
  refuted: Map<number, string>,
  search: Search,
): Promise<void> {
  for (const number of left()) {
    const { verdict } = await search([number], false);
    if (verdict !== "holds") refuted.set(number, verdict);
  }
}

function configOf(part: Part, bounds: Bounds, numbers: readonly number[]): string {
  const constants = [...bounds.constants, `Edits = {${numbers.join(", ")}}`];
  const view = part.view === undefined ? {} : { view: "EditedView" };
  return configFor(
    { ...part, ...view, specification: "EditedSpec", invariants: ["Judged"], steps: [] },
    { ...bounds, constants },
  );
}

/** Beside the edited module: of each edit apart, whether a property is violated, and what is reached. */
function moduleOf(part: Part, bounds: Bounds): string {
  const { module: model, specification = "Spec", invariants, steps = [], reaches = [], view = "vars" } = part;
  const prefix = specification.replace("Spec", "");
  const vars = prefix === "" ? "vars" : `${prefix.toLowerCase()}Vars`;
  const goals = reaches.map((name, index) => `Reach(${name}, ${index + 1}, "${name}")`);
  const stepGoals = goals.filter((goal) => goal.includes("Step,"));
  const ofSteps = [...steps.map((name) => `Judge(${name}Step, "${name}")`), ...stepGoals];
  const stateGoals = goals.filter((goal) => !stepGoals.includes(goal));
  const ofStates = [...invariants.map((name) => `Judge(${name}, "${name}")`), ...stateGoals];
  return String.raw`---- MODULE ${module} ----
EXTENDS ${model}, TLC
CONSTANT Edits
Judge(holds, name) == holds \/ TLCGet(edit) \/ (TLCSet(edit, TRUE) /\ PrintT(<<edit, name>>))
At(goal) == 1000 * goal + edit
Reach(isThere, goal, name) == ~isThere \/ TLCGet(At(goal)) \/ (TLCSet(At(goal), TRUE) /\ PrintT(<<edit, "reaches", name>>))
Judged == ${["TRUE", ...ofStates].join(" /\\ ")}
Start == ${prefix}Init /\ edit \in Edits
EditedInit == Start /\ TLCSet(edit, FALSE) /\ \A goal \in 1..${reaches.length} : TLCSet(At(goal), FALSE)
OneEdit == ${prefix}Next /\ UNCHANGED edit
EditedNext == ~TLCGet(edit) /\ TLCGet("level") < ${depth} /\ ${["OneEdit", ...ofSteps].join(" /\\ ")}
EditedSpec == EditedInit /\ [][EditedNext]_<<${vars}, edit>>
${bounds.temporal ? `EditedFairSpec == Start /\\ [][OneEdit]_<<${vars}, edit>> /\\ Fairness` : ""}
EditedView == <<edit, ${view}>>
====
`;
}
