import { FaultBudget } from "../search/fault-budget.ts";
import { Layout, type State } from "../search/layout.ts";
import type { Model, Step } from "../search/model.ts";

/**
 * A readers-writer lock over a majority (PROTOCOL 10, 14.13).
 *
 * Three masters, two readers and a writer. At a node one step refuses the writer while a reader is there, and the
 * readers while the writer is there or has said that it waits. Requests arrive late or never, and are sent again. The
 * writer may downgrade: a swap at each node makes its write claim a read claim.
 *
 * There is no time: what somebody has on a node expires at any moment from when they are told that their hold has
 * ended. Each reader's entry has an expiry of its own, so they do so one by one.
 */
export const readersWriterMutants = [
  "the readers of a node share one expiry, that of the last to come",
  "the write claim stands during the downgrade",
  "readers upgrade by waiting for each other to leave",
] as const;
export type ReadersWriterMutant = (typeof readersWriterMutants)[number];

/** What a client is doing. */
const idle = 0;
const asking = 1;
const holding = 2;
/** The writer, once it has sent the first swap: it reads. */
const downgraded = 3;
/** A reader that wants to write and reads on; only in a mutant. */
const upgrading = 4;
/** It has released, or was told that its time is up. */
const over = 5;

/** What a client has on a node. */
const readEntry = 1;
const writeKey = 2;

/** What is on its way to a node: a sum of these. */
const request = 1;
const swap = 2;

export interface ReadersWriterBounds {
  /** How much goes wrong: swaps that are lost, and holds that end before they are released. */
  readonly faults: number;
}

export function readersWriter(bounds: ReadersWriterBounds, mutant?: ReadersWriterMutant): Model {
  const layout = new Layout();
  const nodes = layout.sort(3, { interchangeable: true });
  const readers = layout.sort(2, { interchangeable: true });
  /** The one writer, so that it can be indexed like the readers. */
  const writers = layout.sort(1, { interchangeable: false });

  const state = {
    reader: { phase: layout.field([readers]), has: layout.field([readers, nodes]), message: layout.field([readers, nodes]) },
    writer: { phase: layout.field([writers]), has: layout.field([writers, nodes]), message: layout.field([writers, nodes]) },
  };
  /** The writer waits here: no reader is let in before it. */
  const intent = layout.field([nodes]);
  /** Whose entry the expiry of all entries is that of; only in a mutant. */
  const sharedExpiry = layout.field([nodes], readers);
  const budget = new FaultBudget(layout, bounds.faults);

  type Role = keyof typeof state;
  interface Client {
    readonly role: Role;
    readonly number: number;
    readonly name: string;
  }
  const writer: Client = { role: "writer", number: 1, name: "the writer" };
  const allReaders = readers.all.map((number): Client => ({ role: "reader", number, name: `reader ${number}` }));
  const clients: readonly Client[] = [...allReaders, writer];

  const phaseOf = (now: State, { role, number }: Client): number => state[role].phase.get(now, number);
  const hasAt = (now: State, { role, number }: Client, node: number): number => state[role].has.get(now, number, node);
  const isOnItsWay = (now: State, what: number, { role, number }: Client, node: number): boolean =>
    (state[role].message.get(now, number, node) & what) !== 0;
  const setPhase = (next: State, { role, number }: Client, to: number): void =>
    state[role].phase.set(next, to, number);
  const setHas = (next: State, { role, number }: Client, node: number, what: number): void =>
    state[role].has.set(next, what, number, node);

  function send(next: State, what: number, { role, number }: Client): void {
    const { message } = state[role];
    for (const node of nodes.all) message.set(next, message.get(next, number, node) | what, number, node);
  }

  function arrive(next: State, what: number, { role, number }: Client, node: number): void {
    const { message } = state[role];
    message.set(next, message.get(next, number, node) & ~what, number, node);
  }

  const claims = (now: State, client: Client, kind: number): number =>
    nodes.all.filter((node) => hasAt(now, client, node) === kind).length;
  const writes = (now: State): boolean =>
    phaseOf(now, writer) === holding || (mutant === "the write claim stands during the downgrade" && phaseOf(now, writer) === downgraded);
  const upgraded = (now: State, client: Client): boolean =>
    phaseOf(now, client) === upgrading && claims(now, client, writeKey) >= 2;
  const reads = (now: State, client: Client): boolean =>
    [holding, upgrading].includes(phaseOf(now, client)) && !upgraded(now, client);

  function goOn(now: State, step: Step, client: Client): void {
    const doing = phaseOf(now, client);
    const { name } = client;
    if (doing === idle || doing === asking) {
      step(
        () => `${name} asks all nodes`,
        (next) => {
          setPhase(next, client, asking);
          send(next, request, client);
        },
      );
    }
    if (doing === asking && claims(now, client, client === writer ? writeKey : readEntry) >= 2) {
      step(
        () => `${name} has a quorum, and holds`,
        (next) => setPhase(next, client, holding),
      );
    }
    const mayRelease = doing !== upgrading || upgraded(now, client);
    if (doing !== idle && doing !== asking && doing !== over && mayRelease) {
      step(
        () => `${name} releases`,
        (next) => end(next, client),
      );
    }
    if (doing !== idle && doing !== over) {
      const story = (): string => `${name} dies, or is told that its time is up`;
      step(story, (next) => end(next, client), "fault");
    }
    if (doing === holding) convert(step, client);
  }

  /** What still arrives for one who is over keeps a node from others until it expires: as if it had come before. */
  function end(next: State, client: Client): void {
    setPhase(next, client, over);
    for (const node of nodes.all) {
      arrive(next, request | swap, client, node);
    }
  }

  /** Downgrading; and upgrading, which the protocol refuses. */
  function convert(step: Step, client: Client): void {
    if (client === writer) {
      step(
        () => "the writer downgrades: it reads from now on, and sends its swaps",
        (next) => {
          setPhase(next, client, downgraded);
          send(next, swap, client);
        },
      );
    } else if (mutant === "readers upgrade by waiting for each other to leave") {
      step(
        () => `${client.name} wants to write, reads on, and sends its upgrades`,
        (next) => {
          setPhase(next, client, upgrading);
          send(next, swap, client);
        },
      );
    }
  }

  function atNode(now: State, step: Step, client: Client, node: number): void {
    const { name } = client;
    if (isOnItsWay(now, request, client, node)) {
      step(
        () => `node ${node} receives the request of ${name} and ${answer(now, client, node)}`,
        (next) => {
          arrive(next, request, client, node);
          takeRequest(next, client, node);
        },
      );
    }
    if (isOnItsWay(now, swap, client, node)) takeSwap(now, step, client, node);
  }

  function admits(now: State, client: Client, node: number): boolean {
    if (hasAt(now, client, node) !== 0) return true;
    const others = clients.filter((other) => other !== client && hasAt(now, other, node) !== 0);
    if (client === writer) return others.length === 0;
    return intent.get(now, node) === 0 && others.every((other) => hasAt(now, other, node) === readEntry);
  }

  const answer = (now: State, client: Client, node: number): string =>
    admits(now, client, node) ? "votes for it" : "refuses";

  function takeRequest(next: State, client: Client, node: number): void {
    const admitted = admits(next, client, node);
    if (client === writer) intent.set(next, admitted ? 0 : 1, node);
    if (!admitted) return;
    if (hasAt(next, client, node) === 0) setHas(next, client, node, client === writer ? writeKey : readEntry);
    if (client !== writer && mutant === "the readers of a node share one expiry, that of the last to come") sharedExpiry.set(next, client.number, node);
  }

  function takeSwap(now: State, step: Step, client: Client, node: number): void {
    if (client !== writer) {
      // The mutant's upgrade waits at the node until no other reader is there.
      const others = clients.filter((other) => other !== client && hasAt(now, other, node) !== 0);
      if (others.length > 0 || hasAt(now, client, node) !== readEntry) return;
    }
    step(
      () => `node ${node} receives the swap of ${client.name}`,
      (next) => {
        arrive(next, swap, client, node);
        if (client !== writer) setHas(next, client, node, writeKey);
        else if (hasAt(now, client, node) === writeKey) setHas(next, client, node, readEntry);
      },
    );
  }

  function expire(now: State, step: Step, client: Client, node: number): void {
    if (hasAt(now, client, node) === 0) return;
    const isOver = phaseOf(now, client) === over;
    const shared = sharedExpiry.get(now, node);
    if (client !== writer && shared !== 0) {
      if (phaseOf(now, allReaders[shared - 1]!) !== over) return;
      step(
        () => `the entries of all readers expire on node ${node}, for the time of reader ${shared} is up`,
        (next) => {
          for (const reader of allReaders) setHas(next, reader, node, 0);
          sharedExpiry.set(next, 0, node);
        },
      );
    } else if (isOver) {
      step(
        () => `node ${node} receives the release of ${client.name}, or what it has there expires`,
        (next) => {
          setHas(next, client, node, 0);
          if (client === writer) intent.set(next, 0, node);
        },
      );
    }
  }

  /** A lost request is sent again, so it is one that is late. */
  function loseSwap(now: State, step: Step, client: Client, node: number): void {
    if (!isOnItsWay(now, swap, client, node)) return;
    const story = (): string => `the swap of ${client.name} to node ${node} is lost`;
    step(story, (next) => arrive(next, swap, client, node), "fault");
  }

  return {
    layout,
    initial: [layout.blank()],
    steps(now, anyStep) {
      if (clients.every((client) => phaseOf(now, client) === over)) return;
      const step = budget.limited(now, anyStep);
      for (const client of clients) {
        goOn(now, step, client);
        for (const node of nodes.all) {
          atNode(now, step, client, node);
          expire(now, step, client, node);
          loseSwap(now, step, client, node);
        }
      }
      for (const node of nodes.all) {
        if (intent.get(now, node) === 0) continue;
        step(
          () => `the writer's wait expires on node ${node}`,
          (next) => intent.set(next, 0, node),
        );
      }
    },
    violation(now) {
      const reader = allReaders.find((some) => reads(now, some));
      if (reader && writes(now)) return `the writer writes while ${reader.name} reads`;
      const other = allReaders.find((some) => upgraded(now, some));
      if (other && (writes(now) || reader)) return `${other.name} writes, and is not alone`;
      return undefined;
    },
    sights: {
      "two read": (now) => allReaders.every((reader) => reads(now, reader)),
      "the writer has downgraded, and a reader reads beside it": (now) =>
        phaseOf(now, writer) === downgraded && allReaders.some((reader) => reads(now, reader)),
      "the writer writes after a reader": (now) =>
        phaseOf(now, writer) === holding && allReaders.some((reader) => phaseOf(now, reader) === over),
    },
    goal: {
      name: "everyone was served or is gone",
      reached: (now) => clients.every((client) => phaseOf(now, client) === over),
    },
  };
}
