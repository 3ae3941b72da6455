import { InvalidArgumentError } from "../errors.ts";
import { newToken } from "../protocol/token.ts";
import { RedisNode } from "../redis/redis-node.ts";
import { Redlock, type RedlockInternals } from "../redlock.ts";
import type { Settings } from "../settings/settings.ts";
import { ReadWriteNode, type WaitingWriters } from "./read-write-node.ts";

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
  /** By resource: the retry times of the waiting writers. */
  readonly #waiting = new Map<string, readonly number[]>();

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
    // After all commands of the writers.
    const withdrawn = [...this.#waiting.keys()].flatMap((resource) =>
      this.#nodes.map((node) => node.withdraw(resource)),
    );
    await Promise.all([quitting, ...withdrawn]);
  }

  settingsFor(...given: Parameters<RedlockInternals["settingsFor"]>): Settings {
    return this.#internals.settingsFor(...given);
  }

  lockOf(...hold: Parameters<RedlockInternals["lockOf"]>): ReturnType<RedlockInternals["lockOf"]> {
    return this.#internals.lockOf(...hold);
  }

  retryWithin(resource: string): number {
    return Math.max(0, ...(this.#waiting.get(resource) ?? []));
  }

  /**
   * Registers a waiting writer that asks again within `retryWithin` ms. Returns a function that removes it.
   */
  startWaiting(resource: string, retryWithin: number): () => void {
    this.#waiting.set(resource, [...(this.#waiting.get(resource) ?? []), retryWithin]);
    return () => {
      const all = this.#waiting.get(resource)!;
      const others = all.toSpliced(all.indexOf(retryWithin), 1);
      if (others.length > 0) this.#waiting.set(resource, others);
      else {
        this.#waiting.delete(resource);
        for (const node of this.#nodes) void node.withdrawIfRecorded(resource);
      }
    };
  }
}
