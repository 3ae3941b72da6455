import { libraryNamed } from "../libraries/libraries.ts";
import { quitLimit, type SubjectOptions } from "../libraries/subject.ts";
import { outcomeOf } from "../outcome.ts";

// A service in a separate process, as short as one can be: it holds a lock until it is notified that the lock
// is lost, or its parent asks it to end, then quits. It never calls `process.exit`: whether it ends without it, and
// how, is what the parent looks at.

export interface HolderTask {
  readonly library: string;
  readonly urls: readonly string[];
  readonly options: SubjectOptions;
  readonly resource: string;
  readonly ttl: number;
}

/** The messages of the process to its parent. */
export type HolderMessage =
  | { readonly kind: "asking" }
  | { readonly kind: "held" }
  | { readonly kind: "ending"; readonly notified: boolean }
  | { readonly kind: "ended" };

const task = JSON.parse(process.argv[2] ?? "") as HolderTask;
const say = (message: HolderMessage) => process.send?.(message);

const library = await libraryNamed(task.library);
const subject = await library.open(task.urls, task.options);
const asked = new Promise<void>((resolve) => {
  process.once("message", () => resolve());
});
say({ kind: "asking" });
try {
  await subject.using(task.resource, task.ttl, async (signal) => {
    const notified = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    say({ kind: "held" });
    await Promise.race([asked, notified]);
    say({ kind: "ending", notified: signal.aborted });
  });
} catch {
  // A service catches the rejections of its calls; an error that no caller can catch ends the process.
}
await outcomeOf(() => subject.quit(), quitLimit);
subject.disconnect();
say({ kind: "ended" });
// The channel to the parent would keep the process alive.
process.disconnect?.();
