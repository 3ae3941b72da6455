import type { NodeError, Owner } from "../errors.ts";
import type { Context } from "./context.ts";
import type { Fault, KeyState } from "./node.ts";
import { Round } from "./round.ts";
import { tagIn } from "./token.ts";

/** The state of a resource on one master. */
export interface Inspection {
  /** The master, as `host:port`. */
  readonly node: string;
  /** The first characters of the token that holds the key; `undefined` if the key is free or unknown. */
  readonly owner: string | undefined;
  /** The tag of the Redlock that holds the key; `undefined` if the key is free, or holds a token of another library. */
  readonly tag: string | undefined;
  /** That Redlock by its name, if it has one: see the option `owner`. */
  readonly holder: Owner | undefined;
  /** Since when it holds the lock, by its own clock, ms since the epoch; `undefined` for the first 10 to 20 s. */
  readonly since: number | undefined;
  /** The remaining time of the key, ms; 0 if it is free, `Infinity` if it has no expiry. */
  readonly remaining: number;
  /** The length of the queue; 0 without queues. Crashed waiters count until they are passed over. */
  readonly queueLength: number;
  /** The error of a master that did not answer; `undefined` if it did. */
  readonly unreachable: NodeError | undefined;
}

/**
 * Enough to distinguish owners; with the full token any client could release the lock. Never more than half of a
 * short token.
 */
function beginningOf(token: string): string {
  return `${token.slice(0, Math.min(8, token.length / 2))}…`;
}

/** Asks every master about `resource`, and waits for all that answer in time. Changes nothing. */
export async function inspect(
  context: Pick<Context, "nodes" | "runtime" | "clock">,
  resource: string,
  timeout: number,
): Promise<readonly Inspection[]> {
  const { nodes, runtime, clock } = context;
  const round: Round<KeyState> = new Round<KeyState>({
    nodes,
    runtime,
    clock,
    timeout,
    ask: { kind: "inspect", keys: [resource], values: [], ttl: 0, claim: undefined },
    onAnswer: () => false,
  });
  await round.ask().decided;
  return nodes.map((node, index) => inspectionOf(node.name, round.answers[index]!));
}

function inspectionOf(node: string, answer: KeyState | Fault): Inspection {
  const unnamed = { tag: undefined, holder: undefined, since: undefined };
  const nothing = {
    ...unnamed,
    node,
    owner: undefined,
    remaining: 0,
    queueLength: 0,
    unreachable: undefined,
  };
  if ("vote" in answer) return { ...nothing, unreachable: answer.error };
  const owner = answer.owner === undefined ? undefined : beginningOf(answer.owner);
  return {
    ...nothing,
    owner,
    tag: tagIn(answer.owner),
    remaining: answer.remaining,
    queueLength: answer.queueLength,
  };
}
