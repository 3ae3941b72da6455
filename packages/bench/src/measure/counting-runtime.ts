import type { Runtime } from "@quorlock/redlock";
import { built } from "../contenders/built-package.ts";

/**
 * The system's runtime, which also knows how many of its timers stand. Node tells only of those that keep the
 * process alive, and most timers of a lock must not.
 */
export class CountingRuntime implements Runtime {
  standing = 0;
  readonly #system: Runtime = built.systemRuntime;

  monotonic(): number {
    return this.#system.monotonic();
  }

  wall(): number {
    return this.#system.wall();
  }

  randomBytes(count: number): Uint8Array {
    return this.#system.randomBytes(count);
  }

  setTimer(callback: () => void, delay: number): ReturnType<Runtime["setTimer"]> {
    let stands = true;
    const over = (): void => {
      if (stands) this.standing -= 1;
      stands = false;
    };
    this.standing += 1;
    const timer = this.#system.setTimer(() => {
      over();
      callback();
    }, delay);
    return {
      cancel: () => {
        over();
        timer.cancel();
      },
      unref: () => timer.unref(),
    };
  }
}
