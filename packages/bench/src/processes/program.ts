import { once } from "node:events";
import type { Message } from "./child.ts";

// The other end of a `Child`: what a program of this package says and hears.

/** What this program was started with. */
export function task(): unknown {
  // Its parent may be killed: nobody would end it then.
  process.once("disconnect", () => process.exit());
  return JSON.parse(process.argv[2] ?? "");
}

/** Resolves when the parent has received it. */
export async function tell(message: Message): Promise<void> {
  await new Promise<void>((resolve) => {
    if (process.send) process.send(message, () => resolve());
    else resolve();
  });
}

/** The next message of the parent. */
export async function heard(): Promise<unknown> {
  const [message] = await once(process, "message");
  return message;
}
