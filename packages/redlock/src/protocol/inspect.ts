import type { NodeError, Owner } from "../errors.ts";
import { settledWithin } from "../time/sleep.ts";
import type { Context } from "./context.ts";
import type { Answer, LockNode, RecordStore } from "./node.ts";
import { questionOf } from "./question.ts";
import { quorumOf, type Tally } from "./quorum.ts";
import { Round, type Voter } from "./round.ts";
import { tagIn, waiterOf } from "./token.ts";

/** A call that waits for a resource. */
export interface Waiter {
  /** 1 for the next one. */
  readonly place: number;
  /** The tag of its Redlock; `undefined` for a token of another library. */
  readonly tag: string | undefined;
  /** That Redlock by its name, if it has one. */
  readonly holder: Owner | undefined;
}

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
  /** Those who wait in the queue, in its order, at most 50; empty without queues. Crashed waiters are left out. */
  readonly waiters: readonly Waiter[];
  /**
   * Whether this master shows another owner than a quorum does; `true` wherever the key is held if no owner has a quorum, as
   * during a vote, or after the loss of a lock. A master where the key is free does not disagree.
   */
  readonly disagrees: boolean;
  /** The error of a master that did not answer; `undefined` if it did. */
  readonly unreachable: NodeError | undefined;
}

type Inspected = Voter & Pick<LockNode, "records">;

interface InspectedContext extends Pick<Context, "runtime" | "clock"> {
  readonly nodes: readonly Inspected[];
}

/** Asks every master about `resource`, and waits for all that answer in time. Changes nothing. */
export async function inspect(
  context: InspectedContext,
  resource: string,
  timeout: number,
): Promise<readonly Inspection[]> {
  const { nodes, runtime, clock } = context;
  const question = questionOf({ verb: "inspect", keys: [resource], words: [] });
  const round = new Round({ nodes, runtime, clock }, question, { timeout });
  const telling = toldBy(context, timeout, (records) => records.waitersOf(resource));
  await round.ask().decided;
  const waiters = await telling;
  const { answers } = round;
  const most = ownerOfQuorum(answers);
  return nodes.map(({ name }, index) => inspectionOf(name, answers[index], waiters[index] ?? [], most));
}

/** The number of resources that are asked for at a time. */
const inspectedAtOnce = 100;

/** The same for many resources. A master that was silent is not asked again: all of them take one time-out. */
export async function inspectAll(
  context: InspectedContext,
  resources: readonly string[],
  timeout: number,
): Promise<ReadonlyArray<readonly Inspection[]>> {
  const found: Array<readonly Inspection[]> = [];
  let { nodes } = context;
  while (found.length < resources.length) {
    const asked = resources.slice(found.length, found.length + inspectedAtOnce);
    const next = await Promise.all(asked.map((one) => inspect({ ...context, nodes }, one, timeout)));
    nodes = nodes.map((node, index) => {
      const [error] = next.flatMap((masters) => masters[index]!.unreachable ?? []);
      return error ? silent(node, error) : node;
    });
    found.push(...next);
  }
  return found;
}

/** Answers as the master did last, without asking it. */
function silent({ name, client }: Inspected, error: NodeError): Inspected {
  return { name, client, ask: (_, place, sink) => sink.answered(place, { is: "fault", error, sent: false }) };
}

/** The state of each master beside its votes, within `timeout` ms; `undefined` for one that does not. */
export async function toldBy<T>(
  { nodes, runtime }: Omit<InspectedContext, "clock">,
  timeout: number,
  ask: (records: RecordStore) => Promise<T>,
): Promise<readonly (T | undefined)[]> {
  const told: Array<T | undefined> = nodes.map(() => undefined);
  const asked = nodes.map(async ({ records }, index) => {
    if (records?.session !== undefined) told[index] = await ask(records);
  });
  await settledWithin(runtime, timeout, asked);
  return told;
}

/** The owner that a quorum shows, without its round: the rounds of one waiter differ. */
function ownerOfQuorum(answers: Tally): string | undefined {
  const owners = answers.flatMap((answer) =>
    answer?.is === "state" && answer.owner !== undefined ? waiterOf(answer.owner) : [],
  );
  const quorum = quorumOf(answers.length);
  return owners.find((owner) => owners.filter((other) => other === owner).length >= quorum);
}

function inspectionOf(
  node: string,
  answer: Answer | undefined,
  waiters: readonly string[],
  most: string | undefined,
): Inspection {
  const state = answer?.is === "state" ? answer : undefined;
  const owner = state?.owner;
  return {
    node,
    // Enough to distinguish owners; with the full token any client could release the lock. Never more than half of a short token.
    owner: owner === undefined ? owner : `${owner.slice(0, Math.min(8, owner.length / 2))}…`,
    tag: tagIn(owner),
    holder: undefined,
    since: undefined,
    remaining: state?.remaining ?? 0,
    queueLength: state?.queueLength ?? 0,
    waiters: (state ? waiters : []).map((token, index) => ({
      place: index + 1,
      tag: tagIn(token),
      holder: undefined,
    })),
    disagrees: owner !== undefined && waiterOf(owner) !== most,
    unreachable: answer?.is === "fault" ? answer.error : undefined,
  };
}
