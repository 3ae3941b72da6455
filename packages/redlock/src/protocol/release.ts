import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import { type AnyRound, Attempts, type Votes } from "./execution-stats.ts";
import type { ExecutionResult, Lease } from "./lease.ts";
import type { LockNode, ReleaseAnswer } from "./node.ts";
import { quorumOf, toleratedFailures } from "./quorum.ts";

/**
 * Releases a lease: PROTOCOL 5. Never rejects and never retries: an expired lock is an outcome. Only the first call
 * sends anything. A detached lease is released by the process that resumed it.
 */
export function release(lease: Lease, settings: Settings): Promise<ExecutionResult> {
  if (lease.isDetached) {
    const { nodes, runtime } = lease.context;
    return Promise.resolve(new Released("detached", nodes, runtime.wall()));
  }
  if (!lease.releasing) {
    // PROTOCOL 5.3: it has ended here before anything is sent.
    lease.end();
    lease.releasing = lease.handOff?.(settings) ?? releaseKeys(lease, settings);
  }
  return lease.releasing;
}

/** Releases every key that the lease may have, under any of its tokens (PROTOCOL 5.4). */
export async function releaseKeys(lease: Lease, settings: Settings): Promise<ExecutionResult> {
  const { rollbacks, runtime } = lease.context;
  const start = runtime.wall();
  const { placement, resources, tokens, longestTtl: ttl, unasked } = lease;
  const { nodes } = placement;
  const leftover = { placement, resources, tokens, ttl, unasked };
  const round = rollbacks.removal(leftover, nodes, nodeTimeoutFor(ttl, settings), isDecided);
  await round.ask().decided;
  return new Released(outcomeOf(round.answers), nodes, start, round);
}

/** Builds the statistics only when they are read. */
export class Released implements ExecutionResult {
  readonly outcome: ExecutionResult["outcome"];
  readonly start: number;
  readonly #nodes: readonly LockNode[];
  readonly #round: AnyRound | Votes | undefined;

  /** `round`: the round that released the lease. */
  constructor(
    outcome: ExecutionResult["outcome"],
    nodes: readonly LockNode[],
    start: number,
    round?: AnyRound | Votes,
  ) {
    this.outcome = outcome;
    this.start = start;
    this.#nodes = nodes;
    this.#round = round;
  }

  get attempts(): ExecutionResult["attempts"] {
    const attempts = new Attempts(this.#nodes);
    if (this.#round) attempts.add(this.#round);
    return attempts.stats;
  }
}

type Answers = ReadonlyArray<ReleaseAnswer | undefined>;

function isDecided(answers: Answers): boolean {
  return outcomeOf(answers) !== "partial";
}

function outcomeOf(answers: Answers): ExecutionResult["outcome"] {
  let deleted = 0;
  let gone = 0;
  for (const answer of answers) {
    if (answer?.vote === "yes") deleted += 1;
    else if (answer?.vote === "no") gone += 1;
  }
  if (deleted >= quorumOf(answers.length)) return "released";
  return gone > toleratedFailures(answers.length) ? "expired" : "partial";
}
