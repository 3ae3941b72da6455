import { nodeFailed } from "./faults.ts";
import type { Answer, Claim, LockNode, Operation, QueueEntry, Timed } from "./node.ts";
import type { Placement } from "./placement.ts";

// One verb. A master is asked in one way, `LockNode.ask(operation, index)`, whatever for: a vote, an extension, a release,
// a queue entry, the state of a key or of the guard, the time.
//
//   Round, or a single caller ── ask(operation, index) ──▶ a wrapper of the node, if there is one ──▶ RedisNode ──▶ send queue
//          ▲                                                                                                          │
//          └──────────────────────────── operation.onAnswer(index, answer), once a master ◀───────────────────────────┘
//
// - `kind` is the verb. `keys`, `values`, `ttl` and `claim` say of what; `claim.abandoned` is read again before each send.
// - The keys choose the scripts: a lock that may be shared has keys of this library's own, and the same verbs.
// - One operation is the same object for all masters of a round, so a batch of the same operations is encoded once for
//   all of them. `index` is the only thing that tells the masters apart, and comes back with the answer.
// - A node, or a wrapper of one, that adds something for its master (a guard, an inbox, a reading of the clock) passes on
//   an operation of its own, made by `operationOf` as well.

/** A request, the same for all masters. */
export type Asked = Pick<Operation, "kind" | "keys" | "values" | "ttl" | "claim">;
/** The part for one master. */
type Own = Partial<Pick<Operation, "isUnbatched" | "guard" | "purpose" | "onSend">>;

/** A reading of the master's clock. */
export const timeRead: Asked = { kind: "time", keys: [], values: [], ttl: 0, claim: undefined };

const plain: Own = {};

/**
 * The only maker of operations, so that all of them have the same properties in the same order: an engine finds those
 * without a lookup.
 */
export function operationOf(asked: Asked, onAnswer: Operation["onAnswer"], own: Own = plain): Operation {
  const { kind, keys, values, ttl, claim } = asked;
  const { isUnbatched = false, guard, purpose, onSend } = own;
  return { kind, keys, values, ttl, claim, onAnswer, isUnbatched, guard, purpose, onSend };
}

/** Asks the node. Answers are values; a node that throws nevertheless counts as a master that gave none. */
export function ask(node: Pick<LockNode, "name" | "ask">, operation: Operation, index: number): void {
  try {
    node.ask(operation, index);
  } catch (error) {
    operation.onAnswer(index, nodeFailed(node.name, error));
  }
}

/** Asks one node, which needs no index; `onAnswer` gets the first answer alone. */
export function askAlone(
  node: LockNode,
  asked: Asked,
  onAnswer: (answer: Answer | Timed) => void,
  own?: Own,
): void {
  let isAnswered = false;
  const take = (_: number, answer: Answer | Timed): void => {
    if (isAnswered) return;
    isAnswered = true;
    onAnswer(answer);
  };
  ask(node, operationOf(asked, take, own), 0);
}

/** The lease of a claim, as far as its votes need it. */
interface ClaimedLease {
  readonly hasEnded: boolean;
  /** Set once it was lost. */
  readonly lost: unknown;
  /** A master keeps its key until `deadline`. */
  renew(index: number, deadline: number): void;
}

/** A claim that is abandoned explicitly, or when its lease ends. */
export class RoundClaim implements Claim {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttl: number;
  /** The placement that the claim began in: once this is left, it is not sent (PROTOCOL 2.15). */
  readonly placement: Placement;
  /** The lease that the claim has won or is to extend. */
  lease: ClaimedLease | undefined;
  /** The proposed fencing token, if fencing is on. */
  proposal: number | undefined;
  #givenUp = false;

  constructor(
    placement: Placement,
    resources: readonly string[],
    token: string,
    ttl: number,
    lease?: ClaimedLease,
  ) {
    this.placement = placement;
    this.resources = resources;
    this.token = token;
    this.ttl = ttl;
    this.lease = lease;
  }

  get abandoned(): boolean {
    if (this.#givenUp || this.placement.whyLeft !== undefined) return true;
    // `lost` reads the clocks, so it is right even if no timer has fired.
    return this.lease !== undefined && (this.lease.hasEnded || this.lease.lost !== undefined);
  }

  /** The request, the same for every master. */
  question(kind: "extend" | "repair" | "enqueue"): Asked {
    const { resources: keys, token, ttl } = this;
    return { kind, keys, values: [token], ttl, claim: this };
  }

  /** The same for a vote. `unless`: a key that must be free. */
  vote(unless: string | undefined): Asked {
    const { resources, token, ttl } = this;
    const isPlain = unless === undefined;
    const keys = isPlain ? resources : [...resources, unless];
    return { kind: isPlain ? "vote" : "voteUnless", keys, values: [token], ttl, claim: this };
  }

  /** Stops further sends: the caller has given up, or the time of the round is over. */
  giveUp(): void {
    this.#givenUp = true;
  }
}

/** A claim that stays in the queues of the masters that refuse it. */
export class QueueEntryClaim extends RoundClaim implements QueueEntry {
  readonly ticket: number;
  readonly entryTtl: number;

  constructor(
    placement: Placement,
    resources: readonly string[],
    token: string,
    ttl: number,
    ticket: number,
    entryTtl: number,
  ) {
    super(placement, resources, token, ttl);
    this.ticket = ticket;
    this.entryTtl = entryTtl;
  }
}
