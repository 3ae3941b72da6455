import { type BirpcReturn, createBirpc } from "birpc";
import { Child } from "./child.ts";

/** The other process: each of its functions as a call, or as an event without an answer (`asEvent`). */
export type Remote<Other extends object, Local extends object> = BirpcReturn<Other, Local>;

// Typed calls between two processes over Node's own channel. No call has a time limit: a caller that waits for a
// process that may be stopped or die sets its own.
const noLimit = -1;

/** In its own process group: Ctrl-C reaches only the main process, which then ends all children. Errors stay errors. */
export function startProcess(program: URL, flags: readonly string[] = []): Child {
  const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
  return Child.node(program, [], { flags, detached: true, serialization: "advanced", stdio: [...stdio] });
}

/** The parent's side: calls what the child offers, and offers `local` to it. */
export function remoteOf<Other extends object, Local extends object>(
  { process: child }: Child,
  local: Local,
): Remote<Other, Local> {
  const remote = createBirpc<Other, Local>(local, {
    post: (message) => {
      // The exit of a process that has just died is reported on its own.
      if (child.connected) child.send(message, () => {});
    },
    on: (listener) => child.on("message", listener),
    timeout: noLimit,
  });
  child.once("exit", () => remote.$close(new Error(`process ${child.pid} has ended`)));
  return remote;
}

/** The child's side. It ends with its parent. */
export function parentOf<Other extends object, Local extends object>(local: Local): Remote<Other, Local> {
  process.on("disconnect", () => process.exit(1));
  if (!process.connected) process.exit(1);
  return createBirpc<Other, Local>(local, {
    post: (message) => process.send?.(message),
    on: (listener) => process.on("message", listener),
    timeout: noLimit,
  });
}
