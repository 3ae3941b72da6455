import type { Process } from "../engine/process.ts";
import type { Write } from "../master/keyspace.ts";
import type { Master } from "../master/master.ts";
import type { Findings } from "./findings.ts";

/**
 * A vote that still lives is changed or taken away by nobody but the client that cast it: releases compare, votes
 * do not overwrite. Seen at the masters, where a wrong one shows before anybody believes in anything.
 */
export function watchOwnership(findings: Findings, masters: readonly Master[]): void {
  /** Which client drew a token: it was the first to write it. */
  const owners = new Map<string, Process>();
  for (const master of masters) {
    master.onWrite(({ key, entry, previous }, sender) => {
      if (typeof entry?.value === "string" && !owners.has(entry.value)) owners.set(entry.value, sender);
      if (typeof previous?.value !== "string") return;
      const owner = owners.get(previous.value);
      if (owner === undefined || owner === sender) return;
      const deed = deedOf(entry, previous);
      const vote = `the vote of ${owner.name} for "${key}" on ${master.name}`;
      findings.violated("ownership", `${sender.name} ${deed} ${vote}`);
    });
  }
}

function deedOf(entry: Write["entry"], previous: Write["previous"]): string {
  if (entry === undefined) return "deleted";
  return entry.value === previous?.value ? "prolonged" : "overwrote";
}
