import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { argumentsOf, flag } from "@quorlock/simulation/command-line";
import { page, read, repository } from "../architecture/protocol.ts";
import { evidencePage, type Measured, measuredIn, mutants, shown } from "./evidence-page.ts";
import type { Said } from "./playing.ts";

// `pnpm evidence`: which cases fail when a rule is broken? Plays every case against each mutant that docs/protocol-evidence.md
// does not have yet, or against those that are named, and writes the page. `--all`: against each.

/** A mutant may make a case go on for ever: then this ends it, ms. */
const limit = 60_000;
const unbroken = "the client as it is";

/** Measures one mutant after the other, in one process more for each that hangs. */
async function measure(
  names: readonly string[],
  note: (name: string, measured: Measured) => void,
): Promise<void> {
  const left = [...names];
  while (left.length > 0) {
    const player = fork(join(import.meta.dirname, "playing.ts"), left);
    let playing = "";
    let counts = new Map<string, number>();
    const count = (rule: string): void => void counts.set(rule, (counts.get(rule) ?? 0) + 1);
    const watchdog = setTimeout(() => player.kill("SIGKILL"), limit);
    player.on("message", (said: Said) => {
      watchdog.refresh();
      if ("begins" in said) playing = said.begins;
      else if ("fails" in said) count(said.fails);
      else {
        note(left.shift()!, counts);
        counts = new Map();
      }
    });
    const [code] = await once(player, "exit");
    clearTimeout(watchdog);
    if (left.length === 0) return;
    if (code !== null) throw new Error(`"${left[0]}" has ended the process that played the cases`);
    count(`hangs in ${playing}`);
    note(left.shift()!, counts);
  }
}

const { values, positionals: asked } = argumentsOf({
  usage: "evidence [NAME... | --all]",
  about: `writes ${page}: which cases fail with each mutant that it does not have yet, or with those that are named`,
  options: { all: flag("with each mutant") },
  names: { what: "mutant", known: [...mutants.keys()] },
  exit: "1 the cases cannot be played",
  examples: ["evidence", 'evidence "no drift is taken off"', "evidence --all"],
});
const measured = measuredIn(read(page));
const names = [...mutants.keys()].filter((name) =>
  asked.length > 0 ? asked.includes(name) : values.all || !measured.has(name),
);
console.log(`plays the cases with ${unbroken}, then with ${names.length} of ${mutants.size} mutants`);
await measure([unbroken], (_, { size }) => {
  if (size > 0) throw new Error("cases fail without any fault");
});
await measure(names, (name, counts) => {
  measured.set(name, counts);
  writeFileSync(join(repository, page), evidencePage(measured));
  console.log(`${name}: ${shown(counts)}`);
});
writeFileSync(join(repository, page), evidencePage(measured));
console.log(`${names.length} of ${mutants.size} measured, written to ${page}`);
