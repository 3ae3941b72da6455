import { listed, userName } from "../errors.ts";
import type { Context } from "./context.ts";
import { fault } from "./faults.ts";
import type { LockNode, No } from "./node.ts";
import { foreignIn } from "./token.ts";

/** The resources that were reported, for each list of masters: at most 1,000, then from the beginning. */
const told = new WeakMap<readonly LockNode[], Set<string>>();

/** Reports a refusal by something that is no lock, once for each resource: waiting for it may be in vain. */
export function reportForeign({ nodes, report }: Context, node: number, no: No): void {
  const type = foreignIn(no.owner, no.remaining);
  if (type === undefined) return;
  const known = told.get(nodes) ?? new Set();
  if (known.has(no.resource)) return;
  told.set(nodes, known.size < 1000 ? known.add(no.resource) : new Set([no.resource]));
  const what = `the key ${listed([userName(no.resource)])} is no lock (${type})`;
  report(fault(nodes[node]!.name, "WRONGTYPE", what, true).error);
}
