import { ExecutionError, InvalidArgumentError, NodeError } from "../errors.ts";
import type { Context } from "../protocol/context.ts";
import type { Fault, Guard, GuardState, LockNode, ReleaseAnswer } from "../protocol/node.ts";
import { Round } from "../protocol/round.ts";
import { onReadyWhileKept } from "../protocol/weak-listeners.ts";
import { checkMaxTtl } from "../settings/settings.ts";
import { outside } from "../time/async-context.ts";
import { type Guarded, isFindings, MasterGuard } from "./master-guard.ts";

export interface RestartGuardOptions {
  /**
   * The longest ttl that any client of these masters asks for, ms: the same for all of them. A master that lost its
   * memory votes for nobody for so long.
   */
  readonly maxTtl: number;
  /**
   * Masters that keep every vote through a crash (`appendfsync always`): they vote again at once after a restart, and
   * only an emptied one is in quarantine. All clients must say the same. Given a master's `host:port`, or for all.
   * Default false.
   */
  readonly durable?: boolean | ((node: string) => boolean);
}

/**
 * Delayed restarts, done by the clients (PROTOCOL 9). A master may come back without votes that it gave.
 * So whatever claims first looks whether the process is the one that it knows: a new one votes for nobody until all that
 * may be forgotten has expired. Running holds are repaired there meanwhile.
 *
 * For how long that is, all have to agree. Before this client puts any master into quarantine it compares `maxTtl` with
 * so many masters that no quorum can have another one.
 */
export class RestartGuard {
  readonly #context: Context;
  readonly #maxTtl: number;
  readonly #timeout: number;
  /** By the index of the master. */
  readonly #guards: readonly MasterGuard[];
  #isAgreed = false;
  /** The masters that have been heard. */
  readonly #compared = new Set<number>();
  #problem: Error | undefined;
  #first: Promise<void> | undefined;
  #isComparing = false;

  constructor(context: Context, options: RestartGuardOptions, timeout: number) {
    checkOptions(options, context.nodes);
    this.#context = context;
    this.#maxTtl = options.maxTtl;
    this.#timeout = timeout;
    const { durable = false } = options;
    const guarded = this.#guarded();
    this.#guards = context.nodes.map((node) => {
      const isDurable = typeof durable === "function" ? outside(() => durable(node.name)) : durable;
      const guard = new MasterGuard(node, guarded, isDurable);
      node.guarded!.watchWith(guard);
      this.#askWhenBack(guard);
      return guard;
    });
    // In another database another maxTtl may have been agreed on.
    context.placements.onLeft(() => {
      this.#isAgreed = false;
      this.#compared.clear();
      this.#first = undefined;
      for (const guard of this.#guards) guard.forget();
    });
  }

  /**
   * To be waited for before the first vote. Where too few masters answer, they vote all the same, but none that has
   * restarted: it says so, and all are asked again.
   * @throws InvalidArgumentError where a master says that this cannot work.
   */
  async begin(): Promise<void> {
    if (this.#isAgreed) return;
    this.#first ??= this.#compare();
    await this.#first;
    if (this.#problem) await this.#compare();
    if (this.#problem) throw this.#problem;
  }

  /**
   * Every master votes from now on, without quarantine: each is new, and says so. It is declared new only in the memory
   * in which it has said so: a command that was held up until the master had been emptied again changes nothing.
   */
  async initialize(): Promise<void> {
    const declaring = this.#guards.map((guard) => guard.renewing());
    const before = await this.#ask((index) => declaring[index]!.ask);
    this.#check(before, (found, name) =>
      found.maxTtl === 0 ? undefined : new InvalidArgumentError(`initialize: ${name} is not new`),
    );
    const after = await this.#ask((index) => declaring[index]!.declare);
    this.#check(after, (found, name) => this.#differs(found, name));
    this.#isAgreed = true;
  }

  /** Whether the user has been told of the quarantine that this fault is about. */
  hasTold(error: NodeError): boolean {
    return this.#guards.some((guard) => guard.hasTold(error));
  }

  /** The clock of this master has stepped, so it may have forgotten votes: it is to remember that for all clients. */
  distrust(index: number): void {
    this.#guards[index]!.distrust();
  }

  #guarded(): Guarded {
    return {
      runtime: this.#context.runtime,
      maxTtl: this.#maxTtl,
      isAgreed: () => this.#isAgreed,
      compare: () => void this.#compare(),
      seed: (guard, epoch, since) => this.#seed(guard, epoch, since),
    };
  }

  /**
   * What is at an address may have changed while there was no connection. A hold that is not extended just then sends
   * nothing by which that would be noticed: so it is asked for. (A Redlock that nobody has any more is not kept for it.)
   */
  #askWhenBack(guard: MasterGuard): void {
    onReadyWhileKept(this, guard.node, (self) => self.#isBack(guard));
  }

  #isBack(guard: MasterGuard): void {
    // Before the first vote all are asked.
    if (this.#isAgreed) outside(() => guard.ask(guard, () => {}));
  }

  /**
   * A master votes again, but has forgotten fencing counters, and has said so (PROTOCOL 8.8): it is given the largest
   * floor of so many others that every quorum has one of them. Where these stay away for another `maxTtl` the clock
   * has to do, and the user is told.
   */
  async #seed({ node }: MasterGuard, epoch: string, since: number): Promise<boolean> {
    const { nodes, quorum, runtime, report } = this.#context;
    const found = (await this.#ask()).filter(isFindings);
    const sound = found.filter(({ isReady }) => isReady);
    const enough = nodes.length - quorum + 1;
    const isCertain = sound.length >= enough;
    if (!isCertain && runtime.monotonic() - since < this.#maxTtl) return false;
    const floors = (isCertain ? sound : found).map(({ floor }) => floor);
    const floor = Math.max(isCertain ? 0 : Math.floor(runtime.wall() * 1000), ...floors);
    // Told before any token is made of it.
    if (!isCertain) report(uncertain(node.name, sound.length, enough));
    const answer = await new Promise<ReleaseAnswer>((settle) =>
      node.guarded!.restoreCounters(epoch, floor, settle),
    );
    return answer.vote !== "none";
  }

  async #compare(): Promise<void> {
    if (this.#isComparing) return;
    this.#isComparing = true;
    // Begun anew: what has not been heard again must not outweigh it.
    if (this.#problem) this.#compared.clear();
    this.#problem = undefined;
    await this.#ask(undefined, (index, answer) => this.#learn(index, answer));
    this.#isComparing = false;
  }

  /** What a master says stays so, also where it says it late. */
  #learn(index: number, answer: GuardState | Fault): boolean {
    const { nodes, quorum } = this.#context;
    const { name } = nodes[index]!;
    if (isFindings(answer)) {
      // What it remembers from another life, it may have been told otherwise since: as good as nothing.
      if (answer.isCurrent) this.#problem ??= this.#differs(answer, name);
      this.#compared.add(index);
    } else if (answer.error.reason === "NOPERM") this.#problem ??= forbidden(name, answer);
    // Any quorum of clients with another maxTtl has one of these, besides a master that has forgotten it.
    const enough = Math.min(nodes.length, quorum + 1);
    if (this.#problem === undefined && this.#compared.size >= enough) this.#isAgreed = true;
    return this.#isAgreed;
  }

  #differs({ maxTtl }: GuardState, name: string): InvalidArgumentError | undefined {
    if (maxTtl === 0 || maxTtl === this.#maxTtl) return undefined;
    const both = `${this.#maxTtl} ms here, and ${maxTtl} ms at ${name}`;
    return new InvalidArgumentError(`restartGuard: maxTtl must be the same for all clients, but is ${both}`);
  }

  #check(answers: Answers, fault: (found: GuardState, name: string) => Error | undefined): void {
    for (const [index, answer] of answers.entries()) {
      const { name } = this.#context.nodes[index]!;
      if (!isFindings(answer)) throw new ExecutionError(`initialize: ${answer?.error.message ?? name}`, []);
      const error = fault(answer, name);
      if (error) throw error;
    }
  }

  /** Asks all, each in the terms of its guard or in others, and waits until `hear` has heard enough, or their time is up. */
  async #ask(
    termsFor: (index: number) => Guard = (index) => this.#guards[index]!,
    hear: (index: number, answer: GuardState | Fault) => boolean = () => false,
  ): Promise<Answers> {
    const { nodes, runtime, clock } = this.#context;
    const round: Round<GuardState> = new Round<GuardState>({
      nodes,
      runtime,
      clock,
      timeout: this.#timeout,
      ask: (node, settle) => {
        const index = nodes.indexOf(node);
        this.#guards[index]!.ask(termsFor(index), settle);
      },
      onAnswer: hear,
    });
    await round.decided;
    return round.answers;
  }
}

type Answers = ReadonlyArray<GuardState | Fault | undefined>;

function forbidden(name: string, { error }: Fault): InvalidArgumentError {
  return new InvalidArgumentError(
    `restartGuard: ${name} does not let its user run INFO, by which a restart is noticed (${error.message})`,
  );
}

function uncertain(name: string, heard: number, enough: number): NodeError {
  const masters = `only ${heard} of the ${enough} masters that would be needed have kept theirs`;
  return new NodeError(name, "UNCERTAIN_FLOOR", `its fencing counters are set by the clock: ${masters}`);
}

function checkOptions(options: RestartGuardOptions, nodes: readonly LockNode[]): void {
  checkMaxTtl(options?.maxTtl);
  const able = nodes.every((node) => node.keepsCounters && node.guarded);
  if (!able) {
    throw new InvalidArgumentError(
      "restartGuard: a Redis Cluster cannot be guarded, nor can nodes without scripts",
    );
  }
}
