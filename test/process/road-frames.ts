import { Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";

// The frames of the client on the stack, from the call of one lock alone to the socket. The URLs of the masters are the
// arguments; the frames are printed as JSON.

/**
 * The stack from the call to `sendCommand` of ioredis, in its two parts: down to the place where the flush is scheduled that
 * sends all operations of a turn, and from that flush on.
 */
export interface Frames {
  readonly toSchedule: number;
  readonly toSend: number;
}

export interface RoadFrames {
  readonly acquire: Frames;
  readonly release: Frames;
}

/** The frames of the client by which `work` sends its first command. */
async function framesOf(work: () => Promise<void>): Promise<Frames> {
  const stacks: Partial<Record<keyof Frames, string>> = {};
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 100;
  const onThen = (reaction: unknown): void => {
    if ((reaction as { readonly name?: string } | undefined)?.name === "#flushAll")
      stacks.toSchedule ??= new Error("here").stack!;
  };
  const onSend = (): void => {
    stacks.toSend ??= new Error("here").stack!;
  };
  await watching(Promise.prototype, "then", onThen, () =>
    watching(Redis.prototype, "sendCommand", onSend, work),
  );
  Error.stackTraceLimit = limit;
  return { toSchedule: ownFramesIn(stacks.toSchedule), toSend: ownFramesIn(stacks.toSend) };
}

/** Calls `onCall` with the first argument of each call of the method while `work` runs. */
async function watching(
  owner: object,
  method: string,
  onCall: (argument: unknown) => void,
  work: () => Promise<void>,
): Promise<void> {
  const value = Reflect.get(owner, method) as (...given: readonly unknown[]) => unknown;
  const watched = function (this: unknown, ...given: readonly unknown[]): unknown {
    onCall(given[0]);
    return value.apply(this, [...given]);
  };
  Object.defineProperty(owner, method, { value: watched, configurable: true, writable: true });
  try {
    await work();
  } finally {
    Object.defineProperty(owner, method, { value, configurable: true, writable: true });
  }
}

/** Without a stack there is nothing to count: that is a fault of the program. */
function ownFramesIn(stack: string | undefined): number {
  const frames = (stack ?? "").split("\n").filter((line) => line.includes("/packages/redlock/src/"));
  if (frames.length === 0) throw new Error(`no frames of the client: ${stack}`);
  return frames.length;
}

const redlock = new Redlock(process.argv.slice(2).map((url) => new Redis(url)));
// The connections are made by then, and the scripts are known.
for (let count = 0; count < 10; count += 1) await (await redlock.acquire("warm", 10_000)).release();

let held: Awaited<ReturnType<Redlock["acquire"]>>;
const acquire = await framesOf(async () => {
  held = await redlock.acquire("stacked", 10_000);
});
const release = await framesOf(async () => {
  await held.release();
});
process.stdout.write(JSON.stringify({ acquire, release } satisfies RoadFrames));
await redlock.quit();
