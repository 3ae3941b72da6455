import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { changedLine } from "./lua.ts";
import { type Mutant, mutated } from "./mutants.ts";

const sources = "packages/redlock/src/";
const program = join(import.meta.dirname, "../../test/behaviours/showing.ts");

/** The messages of that program: what begins, and at the end what has shown the mutant. */
type Said = { readonly begins: string } | { readonly shownBy: string | undefined };

/** For a case, or a run of the simulator, ms: a mutant may make it go on for ever. */
const limit = 120_000;

export interface Judgement {
  readonly mutant: Mutant;
  /** The case of test/behaviours that fails, and the run of the simulator that is violated: the first of each. */
  readonly cases?: string;
  readonly runs?: string;
  /** So many runs were to show it. */
  readonly of: number;
}

/** A mutant, and what is known of it from fewer runs. */
export interface Suspect {
  readonly mutant: Mutant;
  readonly earlier?: Judgement | undefined;
}

function taskOf(mutant: Mutant, runs: number, first = 0) {
  const text = readFileSync(mutant.file, "utf8");
  const file = mutant.file.replace(sources, "");
  const change = file.endsWith(".lua")
    ? { lua: Object.fromEntries([changedLine(text, mutant)]) }
    : { files: { [file]: mutated(text, mutant) } };
  return { mutant: { name: "a generated mutant", breaks: [], ...change }, file, first, runs };
}

/** Which of the cases, or of so many runs, shows the mutant first, in a process of its own. */
async function shownBy(task: ReturnType<typeof taskOf>): Promise<string | undefined> {
  const execArgv = ["--import", "tsx", "--conditions=quorlock-source"];
  const player = fork(program, { execArgv, stdio: ["ignore", "ignore", "ignore", "ipc"] });
  let shown: string | undefined = "nothing began";
  const watchdog = setTimeout(() => player.kill("SIGKILL"), limit);
  player.on("message", (said: Said) => {
    watchdog.refresh();
    shown = "begins" in said ? `${said.begins}: it hangs, or ends its process` : said.shownBy;
  });
  player.send(task);
  await once(player, "exit");
  clearTimeout(watchdog);
  return shown;
}

/** Judges one after the other, from the first run that is not known, and notes each in `file`. */
export async function* judged(
  suspects: readonly Suspect[],
  runs: number,
  file: string,
): AsyncGenerator<Judgement> {
  for (const { mutant, earlier } of suspects) {
    const byCases = earlier ? earlier.cases : await shownBy(taskOf(mutant, 0));
    const byRuns = await shownBy(taskOf(mutant, runs, earlier?.of));
    const judgement = {
      mutant,
      of: runs,
      ...(byCases !== undefined && { cases: byCases }),
      ...(byRuns !== undefined && { runs: byRuns }),
    };
    appendFileSync(file, `${JSON.stringify(judgement)}\n`);
    yield judgement;
  }
}
