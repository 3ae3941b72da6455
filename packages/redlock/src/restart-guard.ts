import { outside } from "./async-context.ts";
import type { Coordinator } from "./coordinator.ts";
import { ExecutionError, InvalidArgumentError, NodeError } from "./errors.ts";
import type { Fault, Guard, GuardFindings, LockNode, ReleaseAnswer, Settle } from "./node.ts";
import { Round } from "./round.ts";
import { checkMaxTtl } from "./settings.ts";

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

/** What may be done to a master without a mark, or with that of another process. */
type Right = "none" | "quarantine" | "declare new";
const rights: readonly Right[] = ["none", "quarantine", "declare new"];

/**
 * Delayed restarts, done by the clients (PROTOCOL 9, 14.6 to 14.8). A master may come back without votes that it gave.
 * So whatever claims first looks whether the process is the one that it knows: a new one votes for nobody until all that
 * may be forgotten has expired. Running holds are repaired there meanwhile.
 *
 * For how long that is, all have to agree. Before this client puts any master into quarantine it compares `maxTtl` with
 * so many masters that no quorum can have another one.
 */
export class RestartGuard {
  readonly #coordinator: Coordinator;
  readonly #options: RestartGuardOptions;
  readonly #timeout: number;
  #isAgreed = false;
  /** The masters that have been heard. */
  readonly #compared = new Set<number>();
  #problem: Error | undefined;
  #first: Promise<void> | undefined;
  #isComparing = false;
  /** Drawn at random first, and counted up for each command. */
  #epoch: number | undefined;
  /** Masters that wait for their fencing counters, and since when, by the monotonic clock. */
  readonly #unseeded = new Map<string, { readonly since: number; isBusy: boolean }>();

  constructor(coordinator: Coordinator, options: RestartGuardOptions, timeout: number) {
    checkOptions(options, coordinator.nodes);
    this.#coordinator = coordinator;
    this.#options = options;
    this.#timeout = timeout;
    for (const node of coordinator.nodes) node.guardWith!(this.#guardOf(node));
    // In another database another maxTtl may have been agreed on.
    coordinator.placements.onLeft(() => {
      this.#isAgreed = false;
      this.#compared.clear();
      this.#first = undefined;
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

  /** Every master votes from now on, without quarantine: each is new, and says so. */
  async initialize(): Promise<void> {
    const before = await this.#ask((node, settle) => node.findings!(undefined, settle));
    this.#check(before, (found, name) =>
      found.maxTtl === 0 ? undefined : new InvalidArgumentError(`initialize: ${name} is not new`),
    );
    const after = await this.#ask((node, settle) =>
      node.findings!(this.#guardOf(node, "declare new"), settle),
    );
    this.#check(after, (found, name) => this.#differs(found, name));
    this.#isAgreed = true;
  }

  /** A master did not vote. Where it waits for something that this client can do, that is done. */
  hear(error: NodeError): void {
    if (error.reason === "UNSEEDED") void this.#seed(error);
    else if (error.reason === "UNGUARDED") void this.#compare();
  }

  /**
   * A master votes again, but has forgotten fencing counters, and has said so (PROTOCOL 14.10): it is given the largest
   * floor of so many others that every quorum has one of them. Where these stay away for another `maxTtl` the clock
   * has to do, and the user is told.
   */
  async #seed({ node: name, message }: NodeError): Promise<void> {
    const { nodes, quorum, runtime, report } = this.#coordinator;
    // The floors are asked for after the quarantine of this epoch: while it lasts they may still rise unseen.
    const epoch = /UNSEEDED: (\d+)/.exec(message)?.[1];
    const seeding = this.#unseeded.get(name) ?? { since: runtime.monotonic(), isBusy: false };
    if (seeding.isBusy || epoch === undefined) return;
    seeding.isBusy = true;
    this.#unseeded.set(name, seeding);
    const found = (await this.#ask((node, settle) => node.findings!(undefined, settle))).filter(isFindings);
    const sound = found.filter(({ isSound }) => isSound);
    const enough = nodes.length - quorum + 1;
    const isCertain = sound.length >= enough;
    if (isCertain || runtime.monotonic() - seeding.since >= this.#options.maxTtl) {
      const floors = (isCertain ? sound : found).map(({ floor }) => floor);
      const floor = Math.max(isCertain ? 0 : Math.floor(runtime.wall() * 1000), ...floors);
      // Told before any token is made of it.
      if (!isCertain) report(uncertain(name, sound.length, enough));
      const node = nodes.find((node) => node.name === name)!;
      const answer = await new Promise<ReleaseAnswer>((settle) => node.seed!(epoch, floor, settle));
      if (answer.vote !== "none") this.#unseeded.delete(name);
    }
    seeding.isBusy = false;
  }

  async #compare(): Promise<void> {
    if (this.#isComparing) return;
    this.#isComparing = true;
    // Begun anew: what has not been heard again must not outweigh it.
    if (this.#problem) this.#compared.clear();
    this.#problem = undefined;
    await this.#ask(
      (node, settle) => node.findings!(undefined, settle),
      (index, answer) => this.#learn(index, answer),
    );
    this.#isComparing = false;
  }

  /** What a master says stays so, also where it says it late. */
  #learn(index: number, answer: GuardFindings | Fault): boolean {
    const { nodes, quorum } = this.#coordinator;
    const { name } = nodes[index]!;
    if (isFindings(answer)) {
      this.#problem ??= this.#differs(answer, name);
      this.#compared.add(index);
    } else if (answer.error.reason === "NOPERM") this.#problem ??= forbidden(name, answer);
    // Any quorum of clients with another maxTtl has one of these, besides a master that has forgotten it.
    const enough = Math.min(nodes.length, quorum + 1);
    if (this.#problem === undefined && this.#compared.size >= enough) this.#isAgreed = true;
    return this.#isAgreed;
  }

  #differs({ maxTtl }: GuardFindings, name: string): InvalidArgumentError | undefined {
    if (maxTtl === 0 || maxTtl === this.#options.maxTtl) return undefined;
    const both = `${this.#options.maxTtl} ms here, and ${maxTtl} ms at ${name}`;
    return new InvalidArgumentError(`restartGuard: maxTtl must be the same for all clients, but is ${both}`);
  }

  #check(answers: Answers, fault: (found: GuardFindings, name: string) => Error | undefined): void {
    for (const [index, answer] of answers.entries()) {
      const { name } = this.#coordinator.nodes[index]!;
      if (!isFindings(answer)) throw new ExecutionError(`initialize: ${answer?.error.message ?? name}`, []);
      const error = fault(answer, name);
      if (error) throw error;
    }
  }

  /** Asks all, and waits until `hear` has heard enough, or their time is up. */
  async #ask(
    ask: (node: LockNode, settle: Settle<GuardFindings>) => void,
    hear: (index: number, answer: GuardFindings | Fault) => boolean = () => false,
  ): Promise<Answers> {
    const { nodes, runtime, clock } = this.#coordinator;
    const round: Round<GuardFindings> = new Round<GuardFindings>({
      nodes,
      runtime,
      clock,
      timeout: this.#timeout,
      ask,
      hear,
    });
    await round.decided;
    return round.answers;
  }

  #guardOf(node: LockNode, right?: Right): Guard {
    const { maxTtl, durable = false } = this.#options;
    const isDurable = typeof durable === "function" ? outside(() => durable(node.name)) : durable;
    const may = (): Right => right ?? (this.#isAgreed ? "quarantine" : "none");
    const epoch = () => this.#newEpoch();
    return {
      get terms() {
        return `${maxTtl},${epoch()},${isDurable ? 1 : 0},${rights.indexOf(may())}`;
      },
    };
  }

  /** Never the same again: it names one loss of memory, and must not be taken for the name of a later one. 48 bits. */
  #newEpoch(): number {
    this.#epoch ??= this.#coordinator.runtime.randomBytes(6).reduce((number, byte) => number * 256 + byte, 0);
    this.#epoch = (this.#epoch + 1) % 2 ** 48;
    return this.#epoch;
  }
}

type Answers = ReadonlyArray<GuardFindings | Fault | undefined>;

function isFindings(answer: GuardFindings | Fault | undefined): answer is GuardFindings {
  return answer !== undefined && "maxTtl" in answer;
}

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
  const able = nodes.every((node) => node.keepsCounters && "guardWith" in node);
  if (!able) {
    throw new InvalidArgumentError(
      "restartGuard: a Redis Cluster cannot be guarded, nor can nodes without scripts",
    );
  }
}
