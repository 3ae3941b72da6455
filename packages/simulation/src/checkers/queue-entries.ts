import { answeredIn } from "../master/batch-list.ts";
import { knownScript } from "../master/known-scripts.ts";

/** A claim that joins the queue if it is refused, with the reply of one master. */
export interface AnsweredEnqueue {
  readonly keys: readonly string[];
  readonly token: string;
  readonly isGranted: boolean;
}

/** The enqueue questions of a command, or of a batch; most have none. `args` are those of a script. */
export function enqueuesIn(args: readonly (string | number)[], reply: unknown): readonly AnsweredEnqueue[] {
  if (knownScript(String(args[0]))?.name === "enqueueScript") {
    const count = Number(args[1]);
    const keys = args.slice(2, 2 + count).map(String);
    return [{ keys, token: String(args[2 + count]), isGranted: isGrant(reply) }];
  }
  return answeredIn(args, reply, "q").map(({ keys, args: [token], reply: its }) => {
    return { keys, token: token!, isGranted: isGrant(its) };
  });
}

/** True if the reply is the remaining time, or the largest counter before. */
export function isGrant(reply: unknown): boolean {
  return typeof reply === "number" || (Array.isArray(reply) && reply[0] === -1);
}
