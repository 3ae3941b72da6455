import { ExecutionError, InvalidArgumentError, NodeError } from "../errors.ts";
import type { Context } from "../protocol/context.ts";
import type { Answer, Fault, GuardState, LockNode, Question } from "../protocol/node.ts";
import { answerOf, questionOf } from "../protocol/question.ts";
import type { Tally } from "../protocol/quorum.ts";
import { Round } from "../protocol/round.ts";
import { onReadyWhileKept } from "../protocol/weak-listeners.ts";
import { checkTtlRange } from "../settings/settings.ts";
import { outside } from "../time/async-context.ts";
import { type Cancellation, Latch } from "../time/cancellation.ts";
import type { Runtime } from "../time/runtime.ts";
import { SharedWork } from "../time/shared-work.ts";
import { sleep } from "../time/sleep.ts";
import { type GuardCoordinator, MasterGuard, stateRead } from "./master-guard.ts";

export interface RestartGuardOptions {
  /**
   * The maximum ttl of all clients of these masters, ms; the same value for all of them. A master that lost
   * its memory does not vote for this time.
   */
  readonly maxTtl: number;
  /**
   * Masters that keep every vote through a crash (`appendfsync always`): they vote immediately after a
   * restart, and only one that was emptied, reloaded or promoted is in quarantine. The same for all clients. For all masters, or a
   * function of a master's `host:port`. Default false.
   */
  readonly durable?: boolean | ((node: string) => boolean) | undefined;
}

/** Before masters that did not answer a comparison are asked again, while somebody waits for them, ms. */
const pauseBetweenComparisons = 100;

/**
 * Delayed restarts, implemented by the clients (PROTOCOL 9). A restarted master may have forgotten votes. So
 * every claim first checks that the memory is the known one: a new memory does not vote until everything it
 * may have forgotten has expired. Held leases are repaired there meanwhile.
 *
 * All clients must agree on that time. Before this client puts any master into quarantine, it compares
 * `maxTtl` with enough masters that no quorum can have another value.
 */
export class RestartGuard implements GuardCoordinator {
  readonly runtime: Runtime;
  readonly maxTtl: number;
  isAgreed = false;
  readonly #context: Context;
  readonly #timeout: number;
  /** By the index of the master. */
  readonly #guards: readonly MasterGuard[];
  /** The states of the masters that have answered. */
  readonly #compared = new Map<number, GuardState>();
  #problem: Error | undefined;
  /** The latest comparison. */
  #comparison: Latch | undefined;
  /** The one that calls wait for. */
  #awaited: SharedWork | undefined;

  constructor(context: Context, options: RestartGuardOptions, timeout: number) {
    checkOptions(options, context.nodes);
    this.runtime = context.runtime;
    this.maxTtl = options.maxTtl;
    this.#context = context;
    this.#timeout = timeout;
    const { durable = false } = options;
    this.#guards = context.nodes.map((node, index) => {
      const isDurable = typeof durable === "function" ? outside(() => durable(node.name)) : durable;
      const guard = new MasterGuard(node, this, isDurable);
      node.watchGuard!(guard);
      this.#readStateWhenBack(node, index);
      return guard;
    });
    // Another `maxTtl` may be agreed on in another database.
    context.placements.onLeft(() => {
      this.isAgreed = false;
      this.#compared.clear();
      this.#comparison = undefined;
      this.#awaited = undefined;
      for (const guard of this.#guards) guard.forget();
    });
  }

  /** Asked before a vote: whether enough masters have been compared. If so, it reads the epochs that are unknown, with the vote. */
  agrees(): boolean {
    if (this.isAgreed) this.#readEpochs();
    return this.isAgreed;
  }

  /**
   * Awaited before the first vote. The comparison is shared by all calls, and no call waits for longer than `limit` ms after
   * it began: a master that hangs delays the first ones only. If too few masters have answered, the vote proceeds, but a
   * restarted master refuses it and the comparison is repeated.
   * @throws InvalidArgumentError if a master's answer shows that this configuration cannot work.
   */
  async ensureAgreed(limit: number): Promise<void> {
    if (this.agrees()) return;
    // A problem may have been solved since.
    if (!this.#awaited || this.#problem) this.#awaited = new SharedWork(this.runtime, this.compare());
    await this.#awaited.within(limit);
    if (this.#problem) throw this.#problem;
  }

  /**
   * Resolves when this client agrees with enough masters, or with the markers of a quorum: those vote, and a master that is
   * down is no reason to wait. Until then it compares again.
   * `startedAt`: by the monotonic clock.
   * @throws InvalidArgumentError as above; ExecutionError if they do not agree within `timeout` ms.
   */
  async ready(startedAt: number, timeout: number, ended: Cancellation): Promise<void> {
    const { runtime, quorum } = this.#context;
    const until = startedAt + timeout;
    while (!this.agrees()) {
      await ended.race(sleep(runtime, until - runtime.monotonic(), this.compare()));
      if (ended.reason) throw ended.reason;
      if (this.#problem) throw this.#problem;
      const marked = [...this.#compared.values()].filter(({ isCurrent }) => isCurrent).length;
      if (marked >= quorum) return;
      const left = until - runtime.monotonic();
      if (left <= 0) throw disagreed(timeout, this.#compared.size, this.#enough);
      await sleep(runtime, Math.min(pauseBetweenComparisons, left), ended);
    }
  }

  /**
   * Makes every master vote from now on without a quarantine, if all of them report that they are new. A
   * master is declared new only in the memory that reported it: a command that was delayed until the master
   * was emptied again changes nothing.
   */
  async initialize(): Promise<void> {
    const before = await this.#readStates(stateRead("ask whether new"));
    this.#check(before, (found, name) =>
      found.maxTtl === 0 ? undefined : new InvalidArgumentError(`initialize: ${name} is not new`),
    );
    const after = await this.#readStates(stateRead("declare new"));
    this.#check(after, (found, name) => this.#differs(found, name) ?? notDeclared(found, name));
    this.isAgreed = true;
  }

  /** Whether the quarantine of this fault was reported before. */
  wasReported(error: NodeError): boolean {
    return this.#guards.some((guard) => guard.wasReported(error));
  }

  /**
   * Puts this master into quarantine for all clients: its clock has stepped, so it may have forgotten votes.
   */
  distrust(index: number): void {
    this.#guards[index]!.distrust();
  }

  /**
   * The server at an address may have changed while there was no connection. A lease that is not extended at
   * that time sends no command that would notice it, so the state is read on every reconnect. The weak
   * reference does not keep an unused Redlock alive.
   */
  #readStateWhenBack(node: LockNode, index: number): void {
    // (By its index: the guard itself leads back to this, and so would a function that is made in the constructor.)
    onReadyWhileKept(this, node, (self) => self.#onBack(self.#guards[index]!));
  }

  #onBack(guard: MasterGuard): void {
    // Before the first vote, all masters are compared anyway.
    guard.forgetConnection();
    if (this.isAgreed) guard.readEpoch();
  }

  /**
   * Reads the epochs that are unknown: a reading before the agreement begins no quarantine, so it finds no
   * epoch in a memory that is not marked (PROTOCOL 9.5). They are sent with the vote, and no call waits.
   */
  #readEpochs(): void {
    for (const guard of this.#guards) guard.readEpoch();
  }

  /**
   * Restores the fencing counters of a master that votes again but has lost them (PROTOCOL 8.8): it gets the
   * largest floor of enough other masters that every quorum contains one of them. If these stay unreachable
   * for another `maxTtl`, the clock provides the floor and the user is warned.
   */
  async restoreCounters({ node }: MasterGuard, epoch: string, since: number): Promise<boolean> {
    const { nodes, quorum, runtime, report } = this.#context;
    const found = (await this.#readStates()).filter((answer) => answer?.is === "guard");
    const ready = found.filter(({ isReady }) => isReady);
    const enough = nodes.length - quorum + 1;
    const isCertain = ready.length >= enough;
    if (!isCertain && runtime.monotonic() - since < this.maxTtl) return false;
    const floors = (isCertain ? ready : found).map(({ floor }) => floor);
    const floor = Math.max(isCertain ? 0 : Math.floor(runtime.wall() * 1000), ...floors);
    // Reported before any token uses it.
    if (!isCertain) report(uncertain(node.name, ready.length, enough));
    const answer = await restoreCounters(node, epoch, floor);
    return answer.is !== "fault";
  }

  /** One comparison at a time. */
  compare(): Latch {
    if (this.#comparison && !this.#comparison.isOver) return this.#comparison;
    const comparison = new Latch();
    this.#comparison = comparison;
    // A new comparison: earlier answers must not outweigh the new ones.
    if (this.#problem) this.#compared.clear();
    this.#problem = undefined;
    const comparing = this.#readStates(stateRead(), (index, answer) => this.#onState(index, answer));
    void comparing.then(() => comparison.end());
    return comparison;
  }

  /**
   * Any quorum of clients with another `maxTtl` includes one of so many masters, besides one master that has forgotten
   * it.
   */
  get #enough(): number {
    const { nodes, quorum } = this.#context;
    return Math.min(nodes.length, quorum + 1);
  }

  /** A master's answer stays valid, even if it arrives late. */
  #onState(index: number, answer: Answer): void {
    const { name } = this.#context.nodes[index]!;
    if (answer.is === "guard") {
      // An answer about an earlier memory is ignored: another value may have been agreed on since.
      if (answer.isCurrent) this.#problem ??= this.#differs(answer, name);
      this.#compared.set(index, answer);
    } else if (answer.is === "fault" && answer.error.reason === "NOPERM")
      this.#problem ??= forbidden(name, answer);
    if (this.#problem === undefined && this.#compared.size >= this.#enough) this.isAgreed = true;
    if (this.isAgreed) this.#readEpochs();
  }

  #differs({ maxTtl }: GuardState, name: string): InvalidArgumentError | undefined {
    if (maxTtl === 0 || maxTtl === this.maxTtl) return undefined;
    const both = `${this.maxTtl} ms here, and ${maxTtl} ms at ${name}`;
    return new InvalidArgumentError(`restartGuard: maxTtl must be the same for all clients, but is ${both}`);
  }

  #check(answers: Tally, fault: (found: GuardState, name: string) => Error | undefined): void {
    for (const [index, answer] of answers.entries()) {
      const { name } = this.#context.nodes[index]!;
      if (answer?.is !== "guard") {
        const why = answer?.is === "fault" ? answer.error.message : name;
        throw new ExecutionError(`initialize: ${why}`, []);
      }
      const error = fault(answer, name);
      if (error) throw error;
    }
  }

  /** Reads the state of all masters. With `onState`, until this client agrees with enough of them. */
  async #readStates(
    question: Question = stateRead(),
    onState?: (index: number, answer: Answer) => void,
  ): Promise<Tally> {
    const { nodes, runtime, clock } = this.#context;
    const databases = nodes.map(({ database }) => database);
    const round = new Round({ nodes, runtime, clock }, question, {
      timeout: this.#timeout,
      onAnswer: (index, answer) => {
        this.#guards[index]!.hear(answer, databases[index]);
        onState?.(index, answer);
      },
      isDecided: onState && (() => this.isAgreed),
    });
    await round.ask().decided;
    return round.answers;
  }
}

/** Declares the fencing counters of the master complete with this floor, if this is still its epoch. */
function restoreCounters(node: LockNode, epoch: string, floor: number): Promise<Answer> {
  return answerOf(node, questionOf({ verb: "restoreCounters", keys: [], words: [epoch, `${floor}`] }));
}

function forbidden(name: string, { error }: Fault): InvalidArgumentError {
  return new InvalidArgumentError(
    `restartGuard: ${name} does not allow its user to run INFO and OBJECT, which are needed to detect a loss of memory (${error.message})`,
  );
}

/** Its write was refused, or it was emptied meanwhile. */
function notDeclared({ isCurrent }: GuardState, name: string): ExecutionError | undefined {
  return isCurrent ? undefined : new ExecutionError(`initialize: ${name} could not be declared new`, []);
}

function disagreed(timeout: number, answered: number, enough: number): ExecutionError {
  const few = `${answered} of the ${enough} required masters answered`;
  return new ExecutionError(
    `restartGuard: maxTtl could not be compared within ${timeout} ms, ${few}, and no quorum knows it`,
    [],
  );
}

function uncertain(name: string, heard: number, enough: number): NodeError {
  const masters = `only ${heard} of the ${enough} required masters have kept theirs`;
  return new NodeError(name, "UNCERTAIN_FLOOR", `its fencing counters were set by the clock: ${masters}`);
}

function checkOptions(options: RestartGuardOptions, nodes: readonly LockNode[]): void {
  checkTtlRange(options?.maxTtl, "restartGuard.maxTtl");
  // On a Cluster keys move to servers with markers of their own (PROTOCOL 9.3).
  const able = nodes.every(
    (node) => !node.records?.isCluster && node.keepsCounters && typeof node.watchGuard === "function",
  );
  if (!able) {
    throw new InvalidArgumentError(
      "restartGuard: a Redis Cluster cannot be guarded, nor can nodes without scripts",
    );
  }
}
