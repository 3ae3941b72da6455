import { once } from "node:events";
import { extname, join } from "node:path";
import { Child, type Message, now, withMessages } from "@quorlock/simulation/processes";

/** Starts a module beside this one, built or a source as this one is, with its task. */
export function startProgram<Incoming extends Message>(program: string, task: unknown): Child<Incoming> {
  const file = join(import.meta.dirname, `${program}${extname(import.meta.filename)}`);
  return Child.node<Incoming>(file, [JSON.stringify(task)], { stdio: withMessages });
}

// The child's side.

/** The task that the parent gave to this program. */
export function task(): unknown {
  // The program ends with its parent, also if that is killed.
  process.once("disconnect", () => process.exit());
  return JSON.parse(process.argv[2] ?? "");
}

/** Sends a message to the parent, or prints it for one that reads no messages; resolves when it is sent. */
export async function sendToParent(message: Message): Promise<void> {
  await new Promise<void>((resolve) => {
    if (process.send) process.send(message, () => resolve());
    else process.stdout.write(JSON.stringify(message), () => resolve());
  });
}

/** The next message from the parent. */
export async function nextMessage(): Promise<unknown> {
  const [message] = await once(process, "message");
  return message;
}

/** The time until `time` on the clock that processes share, ms; at least 0. */
export function untilShared(time: number): number {
  return Math.max(0, time - now());
}
