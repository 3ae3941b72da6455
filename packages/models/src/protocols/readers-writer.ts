import { FaultBudget } from "../search/fault-budget.ts";
import type { Layout, Sort, State } from "../search/layout.ts";
import type { Model, Step } from "../search/model.ts";
import { Messages } from "./messages.ts";
import { Protocol } from "./protocol.ts";
import { quorum, threeMasters } from "./three-masters.ts";

/**
 * A readers-writer lock over a majority (PROTOCOL 10.3, 10.5).
 *
 * Three masters, two readers and a writer. At a node one step refuses the writer while a reader is there, and the
 * readers while the writer is there or has announced that it waits. Requests arrive late or never, and are sent again.
 * The writer may downgrade: a token transfer at each node turns its write claim into a read claim.
 *
 * There is no time: an entry on a node expires at any moment after its holder was notified that its lock has ended.
 * Each reader's entry has its own expiry, so they expire one by one.
 */
export const readersWriterMutants = [
  "the readers of a node share one expiry, that of the last to come",
  "the write claim stands during the downgrade",
  "readers upgrade by waiting for each other to leave",
] as const;
export type ReadersWriterMutant = (typeof readersWriterMutants)[number];

/** The state of a client. */
const idle = 0;
const asking = 1;
const holding = 2;
/** The writer, after it has sent the first token transfer: it reads. */
const downgraded = 3;
/** A reader that wants to write and reads on; only in a mutant. */
const upgrading = 4;
/** It has released, or was notified that its lock has expired. */
const over = 5;

/** The entries of a client on a node. */
const readEntry = 1;
const writeKey = 2;

/** The messages in flight to a node. */
const request = 1;
const swap = 2;

export interface ReadersWriterBounds {
  /** How much goes wrong: swaps that are lost, and holds that end before they are released. */
  readonly faults: number;
}

export class ReadersWriter extends Protocol<ReadersWriterMutant> {
  readonly sights: Model["sights"] = {
    "two read": (now) => this.#cells.allReaders.every((reader) => this.#reads(now, reader)),
    "the writer has downgraded, and a reader reads beside it": (now) =>
      this.#isWriter(now, downgraded) && this.#cells.allReaders.some((reader) => this.#reads(now, reader)),
    "the writer writes after a reader": (now) =>
      this.#isWriter(now, holding) && this.#cells.allReaders.some((reader) => reader.phase(now) === over),
  };
  readonly goal: Model["goal"] = {
    name: "everyone was served or is gone",
    reached: (now) => this.#areAllOver(now),
  };
  readonly #cells: Cells;

  constructor(bounds: ReadersWriterBounds, mutant?: ReadersWriterMutant) {
    const cells = cellsOf(bounds);
    super(cells.layout, mutant);
    this.#cells = cells;
  }

  steps(now: State, anyStep: Step): void {
    const { nodes, clients, intent, budget } = this.#cells;
    if (this.#areAllOver(now)) return;
    const step = budget.limited(now, anyStep);
    for (const client of clients) {
      this.#proceed(now, step, client);
      for (const node of nodes.all) {
        this.#atNode(now, step, client, node);
        this.#expire(now, step, client, node);
        this.#loseSwap(now, step, client, node);
      }
    }
    for (const node of nodes.all) {
      if (intent.get(now, node) === 0) continue;
      step(
        () => `the writer's wait expires on node ${node}`,
        (next) => intent.set(next, 0, node),
      );
    }
  }

  violation(now: State): string | undefined {
    const { allReaders } = this.#cells;
    const reader = allReaders.find((some) => this.#reads(now, some));
    if (reader && this.#writes(now)) return `the writer writes while ${reader.name} reads`;
    const other = allReaders.find((some) => this.#upgraded(now, some));
    if (other && (this.#writes(now) || reader)) return `${other.name} writes, and is not alone`;
    return undefined;
  }

  #claims(now: State, client: Client, kind: number): number {
    const { nodes } = this.#cells;
    return nodes.all.filter((node) => client.has(now, node) === kind).length;
  }

  #writes(now: State): boolean {
    const { writer } = this.#cells;
    return (
      writer.phase(now) === holding ||
      (this.is("the write claim stands during the downgrade") && writer.phase(now) === downgraded)
    );
  }

  #upgraded(now: State, client: Client): boolean {
    return client.phase(now) === upgrading && this.#claims(now, client, writeKey) >= quorum;
  }

  #reads(now: State, client: Client): boolean {
    return [holding, upgrading].includes(client.phase(now)) && !this.#upgraded(now, client);
  }

  #proceed(now: State, step: Step, client: Client): void {
    const { writer } = this.#cells;
    const doing = client.phase(now);
    const { name } = client;
    if (doing === idle || doing === asking) {
      step(
        () => `${name} asks all nodes`,
        (next) => {
          client.goTo(next, asking);
          client.send(next, request);
        },
      );
    }
    if (doing === asking && this.#claims(now, client, client === writer ? writeKey : readEntry) >= quorum) {
      step(
        () => `${name} has a quorum, and holds`,
        (next) => client.goTo(next, holding),
      );
    }
    const mayRelease = doing !== upgrading || this.#upgraded(now, client);
    if (doing !== idle && doing !== asking && doing !== over && mayRelease) {
      step(
        () => `${name} releases`,
        (next) => this.#end(next, client),
      );
    }
    if (doing !== idle && doing !== over) {
      const story = (): string => `${name} dies, or is told that its time is up`;
      step(story, (next) => this.#end(next, client), "fault");
    }
    if (doing === holding) this.#convert(step, client);
  }

  /**
   * A message that arrives for a finished client blocks the node until its entry expires, as if it had arrived
   * earlier.
   */
  #end(next: State, client: Client): void {
    const { nodes } = this.#cells;
    client.goTo(next, over);
    for (const node of nodes.all) {
      client.arrive(next, request | swap, node);
    }
  }

  /** Downgrading; and upgrading, which the protocol refuses. */
  #convert(step: Step, client: Client): void {
    const { writer } = this.#cells;
    if (client === writer) {
      step(
        () => "the writer downgrades: it reads from now on, and sends its swaps",
        (next) => {
          client.goTo(next, downgraded);
          client.send(next, swap);
        },
      );
    } else if (this.is("readers upgrade by waiting for each other to leave")) {
      step(
        () => `${client.name} wants to write, reads on, and sends its upgrades`,
        (next) => {
          client.goTo(next, upgrading);
          client.send(next, swap);
        },
      );
    }
  }

  #atNode(now: State, step: Step, client: Client, node: number): void {
    const { name } = client;
    if (client.isOnItsWay(now, request, node)) {
      step(
        () => `node ${node} receives the request of ${name} and ${this.#answer(now, client, node)}`,
        (next) => {
          client.arrive(next, request, node);
          this.#takeRequest(next, client, node);
        },
      );
    }
    if (client.isOnItsWay(now, swap, node)) this.#takeSwap(now, step, client, node);
  }

  #admits(now: State, client: Client, node: number): boolean {
    const { intent, writer, clients } = this.#cells;
    if (client.has(now, node) !== 0) return true;
    const others = clients.filter((other) => other !== client && other.has(now, node) !== 0);
    if (client === writer) return others.length === 0;
    return intent.get(now, node) === 0 && others.every((other) => other.has(now, node) === readEntry);
  }

  #answer(now: State, client: Client, node: number): string {
    return this.#admits(now, client, node) ? "votes for it" : "refuses";
  }

  #takeRequest(next: State, client: Client, node: number): void {
    const { intent, sharedExpiry, writer } = this.#cells;
    const admitted = this.#admits(next, client, node);
    if (client === writer) intent.set(next, admitted ? 0 : 1, node);
    if (!admitted) return;
    if (client.has(next, node) === 0) client.give(next, node, client === writer ? writeKey : readEntry);
    if (client !== writer && this.is("the readers of a node share one expiry, that of the last to come"))
      sharedExpiry.set(next, client.number, node);
  }

  #takeSwap(now: State, step: Step, client: Client, node: number): void {
    const { writer, clients } = this.#cells;
    if (client !== writer) {
      // The mutant's upgrade waits at the node until no other reader is there.
      const others = clients.filter((other) => other !== client && other.has(now, node) !== 0);
      if (others.length > 0 || client.has(now, node) !== readEntry) return;
    }
    step(
      () => `node ${node} receives the swap of ${client.name}`,
      (next) => {
        client.arrive(next, swap, node);
        if (client !== writer) client.give(next, node, writeKey);
        else if (client.has(now, node) === writeKey) client.give(next, node, readEntry);
      },
    );
  }

  #expire(now: State, step: Step, client: Client, node: number): void {
    const { intent, sharedExpiry, writer, allReaders } = this.#cells;
    if (client.has(now, node) === 0) return;
    const isOver = client.phase(now) === over;
    const shared = sharedExpiry.get(now, node);
    if (client !== writer && shared !== 0) {
      if (allReaders[shared - 1]!.phase(now) !== over) return;
      step(
        () => `the entries of all readers expire on node ${node}, for the time of reader ${shared} is up`,
        (next) => {
          for (const reader of allReaders) reader.give(next, node, 0);
          sharedExpiry.set(next, 0, node);
        },
      );
    } else if (isOver) {
      step(
        () => `node ${node} receives the release of ${client.name}, or what it has there expires`,
        (next) => {
          client.give(next, node, 0);
          if (client === writer) intent.set(next, 0, node);
        },
      );
    }
  }

  /** A lost request is sent again, so it is one that is late. */
  #loseSwap(now: State, step: Step, client: Client, node: number): void {
    if (!client.isOnItsWay(now, swap, node)) return;
    const story = (): string => `the swap of ${client.name} to node ${node} is lost`;
    step(story, (next) => client.arrive(next, swap, node), "fault");
  }

  #areAllOver(now: State): boolean {
    return this.#cells.clients.every((client) => client.phase(now) === over);
  }

  #isWriter(now: State, doing: number): boolean {
    return this.#cells.writer.phase(now) === doing;
  }
}

type Cells = ReturnType<typeof cellsOf>;

function cellsOf(bounds: ReadersWriterBounds) {
  const { layout, nodes } = threeMasters();
  const readers = layout.sort(2, { interchangeable: true });
  const writers = layout.sort(1, { interchangeable: false });
  const readersPart = partOf(layout, readers, nodes);
  const writersPart = partOf(layout, writers, nodes);
  /** The writer waits here: no reader is let in before it. */
  const intent = layout.field([nodes]);
  /** The reader whose expiry applies to all entries; only in a mutant. */
  const sharedExpiry = layout.field([nodes], readers);
  const budget = new FaultBudget(layout, bounds.faults);
  const allReaders = readers.all.map((number) => new Client(`reader ${number}`, number, readersPart));
  const writer = new Client("the writer", 1, writersPart);
  const clients: readonly Client[] = [...allReaders, writer];
  return { layout, nodes, intent, sharedExpiry, budget, writer, allReaders, clients };
}

/** The part of a state that concerns clients of one kind. */
function partOf(layout: Layout, clients: Sort, nodes: Sort) {
  return {
    nodes,
    phases: layout.field([clients]),
    /** The entries of the clients on the node. */
    entries: layout.field([clients, nodes]),
    messages: new Messages(layout, [clients, nodes]),
  };
}

/** A reader, or the writer. */
class Client {
  readonly name: string;
  readonly number: number;
  readonly #part: ReturnType<typeof partOf>;

  constructor(name: string, number: number, part: ReturnType<typeof partOf>) {
    this.name = name;
    this.number = number;
    this.#part = part;
  }

  phase(now: State): number {
    return this.#part.phases.get(now, this.number);
  }

  goTo(next: State, phase: number): void {
    this.#part.phases.set(next, phase, this.number);
  }

  has(now: State, node: number): number {
    return this.#part.entries.get(now, this.number, node);
  }

  give(next: State, node: number, what: number): void {
    this.#part.entries.set(next, what, this.number, node);
  }

  isOnItsWay(now: State, what: number, node: number): boolean {
    return this.#part.messages.areOnTheirWay(now, what, this.number, node);
  }

  /** To all nodes. */
  send(next: State, what: number): void {
    const { messages, nodes } = this.#part;
    for (const node of nodes.all) messages.send(next, what, this.number, node);
  }

  arrive(next: State, what: number, node: number): void {
    this.#part.messages.takeAway(next, what, this.number, node);
  }
}
