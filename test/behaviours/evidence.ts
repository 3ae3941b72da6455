import { fork } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { page, read, repository } from "../architecture/protocol.ts";
import { evidencePage, type Measured, measuredIn, mutants } from "./evidence-page.ts";
import type { Said } from "./playing.ts";

// `pnpm evidence`: which cases fail when a rule is broken? Plays every case against each mutant that docs/protocol-evidence.md
// does not have yet, or against those that are named, and writes the page. `--all`: against each.

/** A mutant may make a case go on for ever: then this ends it, ms. */
const limit = 60_000;
const unbroken = "the client as it is";

/** Measures one mutant after the other, in as many processes as hang. */
async function measure(names: readonly string[], measured: Map<string, Measured>): Promise<void> {
  const left = [...names];
  while (left.length > 0) {
    const player = fork(join(import.meta.dirname, "playing.ts"), left);
    let playing = "";
    const watchdog = setTimeout(() => player.kill("SIGKILL"), limit);
    player.on("message", (said: Said) => {
      if ("begins" in said) playing = said.begins;
      else {
        watchdog.refresh();
        note(left.shift()!, said.failing);
      }
    });
    await new Promise((resolve) => player.once("exit", resolve));
    clearTimeout(watchdog);
    // It hung, or ended its process.
    if (left.length > 0) note(left.shift()!, [playing]);
  }

  function note(name: string, failing: readonly string[]): void {
    measured.set(name, countsOf(failing));
    console.log(`${name}: ${failing.join(", ") || "no case fails"}`);
  }
}

function countsOf(failing: readonly string[]): Measured {
  const counts = new Map<string, number>();
  for (const rule of failing) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  return counts;
}

const measured = measuredIn(read(page));
const asked = argv.slice(2);
const names = [...mutants.keys()].filter((name) =>
  asked.length === 0 ? !measured.has(name) : asked.includes("--all") || asked.includes(name),
);
const sound = new Map<string, Measured>();
await measure([unbroken], sound);
if (sound.get(unbroken)!.size > 0) throw new Error("cases fail without any fault");
await measure(names, measured);
writeFileSync(join(repository, page), evidencePage(measured));
console.log(`${names.length} of ${mutants.size} measured, written to ${page}`);
