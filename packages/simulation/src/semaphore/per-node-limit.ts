import type { AcquireOptions, Runtime } from "@quorlock/redlock";
import { answerOf, type Connection, type LockNode, questionOf, RedisNode } from "@quorlock/redlock/internal";
import type { LockSettings } from "../plan/plan.ts";
import {
  holdWhile,
  type Resources,
  type Routine,
  type Subject,
  type SubjectClient,
  type SubjectLock,
} from "../run/subject.ts";
import { keysOf, limitOf } from "./semaphore-client.ts";

/**
 * The semaphore that suggests itself, and that other libraries have: each master lets in as many as the limit says,
 * and a permit is to be let in by a majority. It is none: with 3 masters and a limit of 2 three have a permit, two
 * masters each. Here with the client's own commands, so that nothing else is different.
 */
export const perNodeLimit: Subject = {
  name: "each master keeps the limit for itself",
  isUnbounded: true,
  keysOf,
  create: (connections, runtime, settings) => new PerNodeClient(connections, runtime, settings),
};

class PerNodeClient implements SubjectClient {
  readonly #nodes: readonly LockNode[];
  readonly #runtime: Runtime;
  readonly #settings: LockSettings;

  constructor(connections: readonly Connection[], runtime: Runtime, settings: LockSettings) {
    this.#nodes = connections.map((connection) => new RedisNode(connection, { runtime }));
    this.#runtime = runtime;
    this.#settings = settings;
  }

  async acquire(resources: Resources, ttl: number): Promise<SubjectLock> {
    const { waitTimeout = ttl, retryDelay } = this.#settings;
    const end = this.#runtime.monotonic() + waitTimeout;
    for (;;) {
      const lock = await this.tryAcquire(resources, ttl);
      if (lock) return lock;
      if (this.#runtime.monotonic() > end)
        throw Object.assign(new Error("full"), { code: "RESOURCE_LOCKED" });
      await new Promise<void>((resolve) => void this.#runtime.setTimer(resolve, Math.max(1, retryDelay)));
    }
  }

  async tryAcquire(resources: Resources, ttl: number): Promise<SubjectLock | null> {
    const name = typeof resources === "string" ? resources : resources[0]!;
    const token = [...this.#runtime.randomBytes(16)]
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join("");
    const slots = keysOf(name).slice(0, limitOf(name));
    const sentAt = this.#runtime.monotonic();
    const votes = await Promise.all(this.#nodes.map((node) => isLetIn(node, slots, token, ttl)));
    const lock = this.#lockOf(name, slots, token, sentAt + ttl * (1 - 2 * this.#settings.driftFactor) - 2);
    const isGranted = votes.filter(Boolean).length > this.#nodes.length / 2 && lock.remaining() > 0;
    if (isGranted) return lock;
    await lock.release();
    return null;
  }

  using(resources: Resources, ttl: number, _options: AcquireOptions, routine: Routine): Promise<void> {
    return holdWhile(this, resources, ttl, routine);
  }

  async quit(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
  }

  #lockOf(name: string, slots: readonly string[], token: string, deadline: number): SubjectLock {
    let end = deadline;
    return {
      // On each master another slot: there is no resource that all of them would name.
      resources: [],
      share: { of: name, permits: 1, limit: slots.length },
      value: token,
      remaining: () => Math.max(0, end - this.#runtime.monotonic()),
      extend: () => Promise.reject(Object.assign(new Error("never extended"), { code: "LOCK_LOST" })),
      release: async () => {
        end = Number.NEGATIVE_INFINITY;
        await Promise.all(
          this.#nodes.map((node) =>
            answerOf(node, questionOf({ verb: "release", keys: slots, words: [token] })),
          ),
        );
        return { outcome: "released" };
      },
    };
  }
}

/** The first slot that is free on this master, as if there were no others. */
async function isLetIn(
  node: LockNode,
  slots: readonly string[],
  token: string,
  ttl: number,
): Promise<boolean> {
  for (const slot of slots) {
    const claim = { abandoned: false };
    const vote = questionOf({ verb: "vote", keys: [slot], words: [token], ttl, claim });
    const answer = await answerOf(node, vote);
    if (answer.is === "yes") return true;
    if (answer.is === "fault") return false;
  }
  return false;
}
