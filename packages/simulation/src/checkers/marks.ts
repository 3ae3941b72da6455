import type { Process } from "../engine/process.ts";
import { answeredIn } from "../master/batch-list.ts";
import type { Write } from "../master/keyspace.ts";
import type { Master } from "../master/master.ts";
import { isSharable, isShared, membersOf } from "../master/own-keys.ts";
import type { Findings } from "./findings.ts";
import { isGrant } from "./queue-entries.ts";
import { waiterOf } from "./token-owners.ts";

/**
 * The marks of writers that retry: while one stands, its master votes for no further reader; and only the client that
 * made it ends it before its time is over (PROTOCOL 10.8).
 */
export class Marks {
  readonly #findings: Findings;
  readonly #master: Master;
  /** The client that has made each mark, by its name. */
  readonly #owners = new Map<string, Process>();
  /** In the command that is being executed: the marks, and the readers, before it, by their key. */
  readonly #before = new Map<string, ReadonlyMap<string, number>>();

  constructor(findings: Findings, master: Master) {
    this.#findings = findings;
    this.#master = master;
  }

  wrote({ key, entry, previous }: Write, sender: Process): void {
    if (!isSharable(key) || !/:(?:marks|readers)$/.test(key)) return;
    const [before, after] = [previous, entry].map((value) => new Map(membersOf(value)));
    if (!this.#before.has(key)) this.#before.set(key, before!);
    if (isShared(key)) return;
    for (const name of after!.keys()) if (!this.#owners.has(name)) this.#owners.set(name, sender);
    const now = this.#master.process.wallNow();
    for (const [name, expiry] of before!) {
      const owner = this.#owners.get(name);
      if (after!.has(name) || expiry < now || owner === sender) continue;
      this.#violated("ownership", `${sender.name} removed the mark of ${owner?.name} from "${key}"`);
    }
  }

  ran(args: readonly (string | number)[], reply: unknown, sender: Process): void {
    for (const [key, token] of readersVotedFor(args, reply)) {
      const marks = key.replace(/:readers$/, ":marks");
      const after = new Map(membersOf(this.#master.peek(marks)));
      const now = this.#master.process.wallNow();
      // A vote that arrives behind an extension of its lock, on another connection, renews a reader that was there.
      if ((this.#before.get(key)?.get(waiterOf(token)) ?? -1) >= now) continue;
      for (const [name, expiry] of this.#before.get(marks) ?? after)
        if (expiry >= now && after.has(name))
          this.#violated("unfair", `${sender.name} reads beside the mark of ${this.#owners.get(name)?.name}`);
    }
    this.#before.clear();
  }

  #violated(kind: "ownership" | "unfair", what: string): void {
    this.#findings.violated(kind, `${what}, on ${this.#master.name}`);
  }
}

/** The keys of readers that a batch has voted for, and their tokens. */
function readersVotedFor(
  args: readonly (string | number)[],
  reply: unknown,
): ReadonlyArray<readonly [key: string, token: string]> {
  if (!args.some((arg) => isShared(String(arg)))) return [];
  const votes = answeredIn(args, reply, "v").filter(({ keys: [key = ""], reply: its }) => {
    return isShared(key) && isGrant(its);
  });
  return votes.map(({ keys: [key = ""], args: [token = ""] }) => [key, token]);
}
