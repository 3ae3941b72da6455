import { NodeError, type NodeErrorReason } from "./errors.ts";
import type { Fault } from "./node.ts";

/** That the master `node` gave no vote, and why; `sent`: whether the command may have reached it. */
export function fault(
  node: string,
  reason: NodeErrorReason,
  detail: string,
  sent: boolean,
  cause?: unknown,
): Fault {
  return { vote: "none", error: new NodeError(node, reason, detail, cause), sent };
}
