import { constants } from "node:os";
import { now } from "./clock.ts";
import { Narrator } from "./narrator.ts";

type Ending = () => Promise<unknown>;

/** What an example has set up, and how it is taken down again: whatever happens, nothing is left behind. */
export class Stage {
  readonly narrator: Narrator = new Narrator();
  readonly #endings: Ending[] = [];
  #ended: Promise<void> | undefined;

  /** Whether the taking down has begun. */
  get isOver(): boolean {
    return this.#ended !== undefined;
  }

  /** `ending` is called when all is over; what was set up last is taken down first. */
  onEnd(ending: Ending): void {
    this.#endings.push(ending);
  }

  /** Takes everything down. Idempotent. */
  end(): Promise<void> {
    this.#ended ??= this.#takeDown();
    return this.#ended;
  }

  async #takeDown(): Promise<void> {
    for (const ending of this.#endings.toReversed()) await ending();
  }
}

/** Plays a scene. It is true where everything was as promised: that, and only that, is exit code 0. */
export async function play(scene: (stage: Stage) => Promise<boolean>): Promise<void> {
  const stage = new Stage();
  const { narrator } = stage;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // A Ctrl-C may come twice, from the terminal and from the package manager: once is enough.
    process.on(
      signal,
      () => void interrupted(stage, `${signal}: the example ends`, 128 + constants.signals[signal]),
    );
  }
  // Whoever reads the output has gone (`| head`): there is nobody left to play for.
  process.stdout.on("error", () => void interrupted(stage, "", 1));
  process.exitCode = 1;
  try {
    if (await scene(stage)) process.exitCode = 0;
  } catch (error) {
    // What fails because it is being taken down is no news.
    if (!stage.isOver)
      narrator.event("failed", "red", String(error instanceof Error ? error.message : error));
  } finally {
    await stage.end();
  }
}

let isInterrupted = false;

async function interrupted(stage: Stage, why: string, exitCode: number): Promise<void> {
  if (isInterrupted) return;
  isInterrupted = true;
  stage.narrator.silence();
  if (why) stage.narrator.line(`\n${why}, and takes down what it started ...`);
  const began = now();
  await stage.end();
  if (why) stage.narrator.line(`nothing is left running (${Math.round(now() - began)} ms)`);
  process.exit(exitCode);
}

/** Settles as `promise` does, but rejects after `limit` ms. */
export function within<T>(limit: number, what: string, promise: Promise<T>): Promise<T> {
  return unlessLate(limit, `${what} took longer than ${limit / 1000} s`, promise, () => {});
}

/** Settles as `promise` does, but rejects `limit` ms after the last sign of life. A slow machine takes its time. */
export function whileAlive<T>(
  limit: number,
  what: string,
  promise: Promise<T>,
  onSign: (listener: () => void) => void,
): Promise<T> {
  return unlessLate(limit, `${what} stood still for ${limit / 1000} s`, promise, onSign);
}

async function unlessLate<T>(
  limit: number,
  message: string,
  promise: Promise<T>,
  onSign: (listener: () => void) => void,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), limit);
  });
  let isOver = false;
  // `refresh` would start a timer that is cleared.
  onSign(() => void (isOver || timer?.refresh()));
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}
