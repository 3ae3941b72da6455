import { listed, userName } from "../errors.ts";
import type { Context } from "./context.ts";
import { fault } from "./faults.ts";
import type { No } from "./node.ts";
import { foreignIn } from "./token.ts";

/** The number of resources that are remembered: then from the beginning. */
const maxRemembered = 1000;

/** Reports a refusal by something that is no lock, once for each resource: waiting for it may be in vain. */
export function reportForeign({ nodes, report, foreign }: Context, node: number, no: No): void {
  const type = foreignIn(no.owner, no.remaining);
  if (type === undefined || foreign.has(no.resource)) return;
  if (foreign.size >= maxRemembered) foreign.clear();
  foreign.add(no.resource);
  const what = `the key ${listed([userName(no.resource)])} is no lock (${type})`;
  report(fault(nodes[node]!.name, "WRONGTYPE", what, true).error);
}
