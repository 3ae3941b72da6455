import type { NodeError } from "../errors.ts";
import type { Context } from "./context.ts";
import type { Fault, Holding } from "./node.ts";
import { Round } from "./round.ts";

/** What one master says about a resource. */
export interface Inspection {
  /** The master, as `host:port`. */
  readonly node: string;
  /** The first characters of the token that holds the key there; `undefined` where it is free or unknown. */
  readonly owner: string | undefined;
  /** How long the key still lives there, ms; 0 where it is free, `Infinity` for a key without expiry. */
  readonly remaining: number;
  /** How many wait in the queue there; 0 without queues. Who has died since is counted until it is passed over. */
  readonly queueLength: number;
  /** Why this master did not answer; `undefined` where it did. */
  readonly unreachable: NodeError | undefined;
}

/** Enough to tell owners apart; whoever knew all of it could release the lock. Of a short one never more than half. */
function beginningOf(token: string): string {
  return `${token.slice(0, Math.min(8, token.length / 2))}…`;
}

/** Asks every master about `resource`, and waits for all that answer in time. Changes nothing. */
export async function inspect(
  context: Context,
  resource: string,
  timeout: number,
): Promise<readonly Inspection[]> {
  const { nodes, runtime, clock } = context;
  const round: Round<Holding> = new Round<Holding>({
    nodes,
    runtime,
    clock,
    timeout,
    ask: (node, settle) => node.inspect(resource, settle),
    hear: () => false,
  });
  await round.decided;
  return nodes.map((node, index) => inspectionOf(node.name, round.answers[index]!));
}

function inspectionOf(node: string, answer: Holding | Fault): Inspection {
  const nothing = { node, owner: undefined, remaining: 0, queueLength: 0, unreachable: undefined };
  if ("vote" in answer) return { ...nothing, unreachable: answer.error };
  const owner = answer.owner === undefined ? undefined : beginningOf(answer.owner);
  return { ...nothing, owner, remaining: answer.remaining, queueLength: answer.queueLength };
}
