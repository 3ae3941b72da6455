import type { Process } from "../engine/process.ts";
import type { Entry } from "../master/entries.ts";
import type { Write } from "../master/keyspace.ts";
import type { Master } from "../master/master.ts";
import type { Member } from "../master/sorted-set.ts";
import type { Findings } from "./findings.ts";

/**
 * A waiting writer keeps further readers out until its own client withdraws it, or its time is over: no other client
 * ends that.
 */
export class WaitingWriters {
  readonly #findings: Findings;
  readonly #master: Master;
  /** By the name that stands in the set. */
  readonly #owners = new Map<string, Process>();

  constructor(findings: Findings, master: Master) {
    this.#findings = findings;
    this.#master = master;
  }

  wrote({ key, entry, previous }: Write, sender: Process): void {
    if (!/^quorlock:rw:.*:intent$/.test(key)) return;
    const members = membersOf(entry);
    for (const { name } of members) if (!this.#owners.has(name)) this.#owners.set(name, sender);
    const left = new Set(members.map(({ name }) => name));
    const now = this.#master.process.wallNow();
    for (const { name, score } of membersOf(previous)) {
      const owner = this.#owners.get(name);
      if (left.has(name) || score < now || owner === sender) continue;
      const where = `"${key}" on ${this.#master.name}`;
      this.#findings.violated("ownership", `${sender.name} took ${owner?.name} out of ${where}`);
    }
  }
}

function membersOf(entry: Entry | undefined): readonly Member[] {
  const value = entry?.value;
  return typeof value === "object" && "sorted" in value ? value.sorted : [];
}
