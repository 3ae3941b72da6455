import { InvalidArgumentError } from "../errors.ts";
import type { Lock } from "../holding/lock.ts";
import { newToken } from "../protocol/token.ts";
import { RedisNode } from "../redis/redis-node.ts";
import { Redlock, type RedlockInternals } from "../redlock.ts";
import type { Settings } from "../settings/settings.ts";
import type { Runtime, Timer } from "../time/runtime.ts";
import { ReadWriteNode, type WaitingWriters } from "./read-write-node.ts";

/**
 * Readers are kept away for this time after a waiting writer was refused, and one `nodeTimeout`, ms: so long, if its
 * process dies.
 */
const announcementTime = 2000;
/** While it waits that time is renewed this often, ms, however long the pauses between its attempts are. */
const renewalInterval = 500;

/** A writer that waits. */
interface WaitingWriter {
  readonly nodeTimeout: number;
  /** Whether nothing but other holders keeps it from the lock. */
  isWithinReach: boolean;
  /** Whether it waited when readers refused a writer of this client: readers that come later wait for it. */
  isAnnounced: boolean;
}

/** A writer's place among those that wait. */
export interface WriterPlace {
  readonly onVoted: NonNullable<Settings["onVoted"]>;
  leave(): void;
}

const mastersOf = new WeakMap<Redlock, ReadWriteMasters>();

/** The masters of a Redlock for readers-writer locks, shared by all such locks of it. */
export class ReadWriteMasters implements WaitingWriters {
  /**
   * A Redlock over the same connections with the same settings. It forwards its events to the original one.
   */
  readonly redlock: Redlock;
  readonly name: string;
  readonly #internals: RedlockInternals;
  readonly #nodes: readonly ReadWriteNode[];
  /** By resource. */
  readonly #waiting = new Map<string, Set<WaitingWriter>>();
  /** By resource: the next renewal of the announcement. Set while an announced writer waits. */
  readonly #renewals = new Map<string, Timer>();
  readonly #runtime: Runtime;
  /** Whether the latest round of a writer reached too few masters: the next writer does not announce in its first round. */
  #isCutOff = false;

  /** @throws InvalidArgumentError */
  static of(redlock: Redlock): ReadWriteMasters {
    let masters = mastersOf.get(redlock);
    if (!masters) {
      masters = new ReadWriteMasters(redlock);
      mastersOf.set(redlock, masters);
    }
    return masters;
  }

  private constructor(redlock: Redlock) {
    const inside = Redlock.internalsOf(redlock);
    const settings = inside.settingsFor(undefined);
    if (settings.maxTtl !== undefined) {
      throw new InvalidArgumentError("readers-writer locks cannot be used with restartGuard");
    }
    const { context } = inside;
    const { runtime, nodes } = context;
    this.#runtime = runtime;
    this.name = newToken(runtime);
    this.#nodes = nodes.map((node) => {
      if (node instanceof RedisNode) return new ReadWriteNode(node, this);
      throw new InvalidArgumentError("readers-writer locks need masters that run scripts");
    });
    this.redlock = new Redlock(this.#nodes, { ...settings, runtime });
    this.redlock.on("error", (error) => context.report(error));
    this.redlock.on("lost", (lock) => void redlock.emit("lost", lock));
    this.#internals = Redlock.internalsOf(this.redlock);
    inside.includeLeases(this.#internals.context.leases);
    inside.atQuit(() => this.#quit());
  }

  /** Waiting writers are withdrawn: their precedence would otherwise exclude readers until it expires. */
  async #quit(): Promise<void> {
    const quitting = this.redlock.quit();
    for (const resource of this.#renewals.keys()) this.#stopRenewing(resource);
    // After all commands of the writers.
    const withdrawn = [...this.#waiting.keys()].flatMap((resource) =>
      this.#nodes.map((node) => node.withdraw(resource)),
    );
    await Promise.all([quitting, ...withdrawn]);
  }

  settingsFor(...given: Parameters<RedlockInternals["settingsFor"]>): Settings {
    return this.#internals.settingsFor(...given);
  }

  /** Like `Redlock.acquire`, with all settings. */
  async acquire(...request: Parameters<RedlockInternals["acquire"]>): Promise<Lock> {
    const lock = await this.#internals.acquire(...request);
    if (lock instanceof Error) throw lock;
    return lock;
  }

  lockOf(...hold: Parameters<RedlockInternals["lockOf"]>): ReturnType<RedlockInternals["lockOf"]> {
    return this.#internals.lockOf(...hold);
  }

  announcementFor(resource: string): number {
    const writers = this.#withinReach(resource);
    if (writers.length === 0) return 0;
    return announcementTime + Math.max(...writers.map(({ nodeTimeout }) => nodeTimeout));
  }

  /**
   * PROTOCOL 10.4: every writer that waits now keeps later readers out until it is granted or gives up. Later writers
   * do not, unless readers refuse a writer again; and while readers are kept out, none does for ever.
   */
  onRefusedByReaders(resource: string): void {
    for (const writer of this.#withinReach(resource)) writer.isAnnounced = true;
    if (this.#isAnnounced(resource) && !this.#renewals.has(resource)) this.#renewLater(resource);
  }

  /** Registers a waiting writer. */
  startWaiting(resource: string, nodeTimeout: number): WriterPlace {
    const writer: WaitingWriter = { nodeTimeout, isWithinReach: !this.#isCutOff, isAnnounced: false };
    const writers = this.#waiting.get(resource) ?? new Set();
    this.#waiting.set(resource, writers.add(writer));
    return {
      onVoted: (hindrance) => {
        this.#isCutOff = hindrance === "cut off";
        writer.isWithinReach = hindrance === undefined;
        if (writer.isWithinReach || !writer.isAnnounced) return;
        // PROTOCOL 10.4: it would keep readers out although it cannot be granted.
        writer.isAnnounced = false;
        this.#withdrawUnlessAnnounced(resource);
      },
      leave: () => {
        writers.delete(writer);
        if (writers.size === 0) this.#waiting.delete(resource);
        this.#withdrawUnlessAnnounced(resource);
      },
    };
  }

  #withinReach(resource: string): readonly WaitingWriter[] {
    return [...(this.#waiting.get(resource) ?? [])].filter(({ isWithinReach }) => isWithinReach);
  }

  #withdrawUnlessAnnounced(resource: string): void {
    if (this.#isAnnounced(resource)) return;
    this.#stopRenewing(resource);
    for (const node of this.#nodes) void node.withdrawIfRecorded(resource);
  }

  #isAnnounced(resource: string): boolean {
    return [...(this.#waiting.get(resource) ?? [])].some(({ isAnnounced }) => isAnnounced);
  }

  #renewLater(resource: string): void {
    const renew = (): void => {
      for (const node of this.#nodes) void node.renewIfRecorded(resource);
      this.#renewLater(resource);
    };
    const timer = this.#runtime.setTimer(renew, renewalInterval);
    timer.unref();
    this.#renewals.set(resource, timer);
  }

  #stopRenewing(resource: string): void {
    this.#renewals.get(resource)?.cancel();
    this.#renewals.delete(resource);
  }
}
