import { runPlan } from "@quorlock/simulation";
import { hunts, type Mutant, mutatedClient, mutatedCopy } from "@quorlock/simulation/mutants";
import { sections } from "./sections.ts";
import { play } from "./virtual.ts";

// The process in which `pnpm mutation --runs` looks for one generated mutant: it may hang, or end.

interface Task {
  readonly mutant: Mutant;
  /** In packages/redlock/src. */
  readonly file: string;
  /** So many are known to show nothing. */
  readonly first: number;
  /** Up to that many runs of the simulator; without any, the cases of test/behaviours. */
  readonly runs: number;
}

/** The case or run that has begun; or, at the end, the one that has shown the mutant, nothing if none did. */
type Said = { readonly begins: string } | { readonly shownBy: string | undefined };

function say(said: Said): void {
  process.send!(said);
}

async function shownByCases(mutant: Mutant): Promise<string | undefined> {
  const copy = await mutatedCopy(mutant);
  for (const one of Object.values(sections).flat()) {
    if (one.notOn.virtual !== undefined) continue;
    say({ begins: one.rule });
    const failure = await play(one, copy).catch(() => one);
    if (failure) return `${one.rule} ${one.title}`;
  }
  return undefined;
}

/** Searched as the mutants in the same file that were written by hand; most of all as those of the lock itself. */
async function shownByRuns({ mutant, file, first, runs }: Task): Promise<string | undefined> {
  const [locks, ...others] = hunts;
  const near = others.filter(({ mutants }) =>
    mutants.some(({ edits = {} }) => Object.keys(edits).some((place) => place.startsWith(`${file} `))),
  );
  const chosen = near.length === 0 || !file.startsWith("primitives/") ? [locks!, ...near] : near;
  const subjects = await Promise.all(
    chosen.map(({ mutants: [{ subjectOf } = mutant] }) =>
      mutatedClient(subjectOf === undefined ? mutant : { ...mutant, subjectOf }),
    ),
  );
  for (let run = first; run < runs; run += 1) {
    const { planOf, from = 1 } = chosen[run % chosen.length]!;
    const seed = from + Math.floor(run / chosen.length);
    say({ begins: `seed ${seed}` });
    const { violations } = await runPlan(planOf(seed), {
      subject: subjects[run % chosen.length]!,
      stopAt: "any",
    });
    if (violations[0]) return `seed ${seed}: ${violations[0].kind}`;
  }
  return undefined;
}

Error.stackTraceLimit = 0;
process.once("message", (task: Task) => {
  // It may leave an error to nobody: the cases tell, and the simulator hears it.
  if (task.runs === 0) process.on("unhandledRejection", () => {});
  const looking = task.runs === 0 ? shownByCases(task.mutant) : shownByRuns(task);
  void looking.catch(String).then((shownBy) => {
    say({ shownBy });
    process.disconnect();
  });
});
