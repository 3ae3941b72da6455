import { InvalidArgumentError } from "../errors.ts";
import { newToken } from "../protocol/token.ts";
import { RedisNode } from "../redis/redis-node.ts";
import { Redlock, type RedlockInternals } from "../redlock.ts";
import type { Settings } from "../settings/settings.ts";
import { ReadWriteNode, type WaitingWriters } from "./read-write-node.ts";

const known = new WeakMap<Redlock, ReadWriteMasters>();

/** The masters of a Redlock, as they are to readers and writers: one for all readers-writer locks of it. */
export class ReadWriteMasters implements WaitingWriters {
  /** Asks the same masters over the same connections, with the same settings, and tells what the other one tells. */
  readonly redlock: Redlock;
  readonly name: string;
  readonly #inside: RedlockInternals;
  readonly #nodes: readonly ReadWriteNode[];
  /** By resource, for each writer that waits. */
  readonly #waiting = new Map<string, readonly number[]>();

  /** @throws InvalidArgumentError */
  static of(redlock: Redlock): ReadWriteMasters {
    let masters = known.get(redlock);
    if (!masters) {
      masters = new ReadWriteMasters(redlock);
      known.set(redlock, masters);
    }
    return masters;
  }

  private constructor(redlock: Redlock) {
    const inside = Redlock.internalsOf(redlock);
    const settings = inside.settingsFor(undefined);
    if (settings.maxTtl !== undefined) {
      throw new InvalidArgumentError("restartGuard does not watch over readers and writers");
    }
    const { context } = inside;
    const { runtime, nodes } = context;
    this.name = newToken(runtime);
    this.#nodes = nodes.map((node) => {
      if (node instanceof RedisNode) return new ReadWriteNode(node, this);
      throw new InvalidArgumentError("readers and writers need masters that run scripts");
    });
    this.redlock = new Redlock(this.#nodes, { ...settings, runtime });
    this.redlock.on("error", (error) => context.report(error));
    this.redlock.on("lost", (lock) => void redlock.emit("lost", lock));
    this.#inside = Redlock.internalsOf(this.redlock);
    inside.includeLeases(this.#inside.context.leases);
    inside.atQuit(() => this.#quit());
  }

  /** A writer that is not answered any more would keep readers away for the time that it was to ask again in. */
  async #quit(): Promise<void> {
    const quitting = this.redlock.quit();
    // Behind all that the writers have sent.
    const withdrawn = [...this.#waiting.keys()].flatMap((resource) =>
      this.#nodes.map((node) => node.withdraw(resource)),
    );
    await Promise.all([quitting, ...withdrawn]);
  }

  settingsFor(...given: Parameters<RedlockInternals["settingsFor"]>): Settings {
    return this.#inside.settingsFor(...given);
  }

  lockOf(...hold: Parameters<RedlockInternals["lockOf"]>): ReturnType<RedlockInternals["lockOf"]> {
    return this.#inside.lockOf(...hold);
  }

  patienceFor(resource: string): number {
    return Math.max(0, ...(this.#waiting.get(resource) ?? []));
  }

  /** A writer waits from now on, and asks again within `patience` ms, until it calls what this returns. */
  startWaiting(resource: string, patience: number): () => void {
    this.#waiting.set(resource, [...(this.#waiting.get(resource) ?? []), patience]);
    return () => {
      const all = this.#waiting.get(resource)!;
      const others = all.toSpliced(all.indexOf(patience), 1);
      if (others.length > 0) this.#waiting.set(resource, others);
      else {
        this.#waiting.delete(resource);
        for (const node of this.#nodes) void node.withdrawWhereAwaited(resource);
      }
    };
  }
}
