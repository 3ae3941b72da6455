import type { Runtime, Timer } from "./runtime.ts";

// The only file that reads the system's clocks, timers and randomness (a lint rule enforces it).

class SystemTimer implements Timer {
  /** A number where jsdom has put the timers of a browser in place of Node's. */
  readonly #timeout: ReturnType<typeof setTimeout> | number;
  readonly #setBy = setTimeout;

  constructor(callback: () => void, delay: number) {
    this.#timeout = setTimeout(callback, delay);
  }

  get isForeign(): boolean {
    return this.#setBy !== setTimeout;
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  unref(): void {
    if (typeof this.#timeout === "object") this.#timeout.unref();
  }
}

/**
 * Random bytes are drawn ahead: 16 bytes for each token cost 1.6 us of CPU in a loop, from the block 0.2 us. Unused
 * bytes are in every copy of the memory, so they are used only for {@link maxAge}: a process that is started from a
 * snapshot draws new ones (PROTOCOL 2.1).
 */
const bytesPerDraw = 1024;
/** By the wall clock, ms: the monotonic clock restarts in a process that is started from a snapshot. */
const maxAge = 10;
class RandomBytes {
  #drawn = new Uint8Array(0);
  #used = 0;
  #drawnAt = 0;
  /** Both clocks, as bytes. */
  readonly #clocks = new Float64Array(2);
  readonly #clockBytes = new Uint8Array(this.#clocks.buffer);

  draw(count: number): Uint8Array {
    const now = Date.now();
    const isFresh = now >= this.#drawnAt && now - this.#drawnAt < maxAge;
    if (!isFresh || this.#used + count > this.#drawn.length) {
      this.#drawn = crypto.getRandomValues(new Uint8Array(Math.max(count, bytesPerDraw)));
      this.#used = 0;
      this.#drawnAt = now;
    }
    this.#used += count;
    const bytes = this.#drawn.subarray(this.#used - count, this.#used);
    // Copies that continue at once, such as clones of a machine, have the same unused bytes and the same generator:
    // OpenSSL keeps its state in the memory of the process, so a draw for each token would not tell them apart either.
    // They differ in the readings of both clocks. Random bytes stay as random with other bytes mixed in (PROTOCOL 2.1).
    this.#clocks[0] = performance.now();
    this.#clocks[1] = now;
    for (let index = 0; index < count && index < this.#clockBytes.length; index += 1) {
      bytes[index]! ^= this.#clockBytes[index]!;
    }
    return bytes;
  }
}

/** Deno asks its user, or throws, before it tells the host. */
function identity(): ReturnType<NonNullable<Runtime["identity"]>> {
  const { permissions } = (globalThis as { Deno?: DenoPermissions }).Deno ?? {};
  if (permissions && permissions.querySync({ name: "sys", kind: "hostname" }).state !== "granted")
    return undefined;
  return { host: process.getBuiltinModule("node:os").hostname(), pid: process.pid };
}

interface DenoPermissions {
  readonly permissions?: {
    querySync(asked: { readonly name: "sys"; readonly kind: string }): { readonly state: string };
  };
}

function system(): Runtime {
  const random = new RandomBytes();
  return {
    monotonic: () => performance.now(),
    wall: () => Date.now(),
    randomBytes: (count) => random.draw(count),
    setTimer: (callback, delay) => new SystemTimer(callback, delay),
    identity,
  };
}

/** The clocks, timers, random bytes and name of the machine. */
export const systemRuntime: Runtime = system();

/** Calls `callback` after the callbacks of the present turn that were set before. */
export function afterTurn(callback: () => void): void {
  setImmediate(callback);
}
