import { hasFlag } from "./commands.ts";
import { ReplyError } from "./reply.ts";

/**
 * Why a master that answers refuses to write:
 *
 * - `OOM`: its memory is full (`maxmemory` with `noeviction`).
 * - `MISCONF`: its last snapshot could not be written to disk.
 * - `NOREPLICAS`: fewer replicas are connected than `min-replicas-to-write`.
 * - `READONLY`: it is a replica.
 */
export type WriteRefusal = (typeof writeRefusals)[number];

export const writeRefusals = ["OOM", "MISCONF", "NOREPLICAS", "READONLY"] as const;

/** Redis's own words. */
const messages: Readonly<Record<WriteRefusal, string>> = {
  OOM: "command not allowed when used memory > 'maxmemory'.",
  MISCONF:
    "Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may " +
    "modify the data set are disabled, because this instance is configured to report errors during writes if RDB " +
    "snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB " +
    "error.",
  NOREPLICAS: "Not enough good replicas to write.",
  READONLY: "You can't write against a read only replica.",
};

/** One run of a script. */
export interface ScriptRun {
  /** Whether a write was let in, even one that has changed nothing. */
  hasWritten: boolean;
}

/**
 * Whether a master that refuses to write lets a command in; it refuses by an error reply, before the command is looked
 * at. Of a script it can refuse only the first write: it does not stop a script that has begun to change something.
 * PUBLISH is no write, so it is never refused.
 */
export class WriteGate {
  /** `undefined`: writes are let in. */
  refusal: WriteRefusal | undefined;
  /** Sees each write that comes while writes are refused: whether it was refused, or let in behind an earlier one. */
  onWrite: ((isRefused: boolean) => void) | undefined;

  /** `script`: of the script that calls the command. @throws ReplyError */
  enter(name: string, script?: ScriptRun): void {
    if (!this.refusal && (script === undefined || script.hasWritten)) return;
    const isWrite = hasFlag(name, "write");
    const { refusal } = this;
    if (refusal && this.#isMeant(name, isWrite, refusal, script)) {
      const isRefused = script?.hasWritten !== true;
      this.onWrite?.(isRefused);
      if (isRefused) throw new ReplyError(`${refusal} ${messages[refusal]}`);
    }
    if (script && isWrite) script.hasWritten = true;
  }

  #isMeant(command: string, isWrite: boolean, refusal: WriteRefusal, script: ScriptRun | undefined): boolean {
    if (refusal === "OOM") return hasFlag(command, "denyoom");
    // With MISCONF, PING reports the failing disk as well.
    return isWrite || (refusal === "MISCONF" && command.toUpperCase() === "PING" && script === undefined);
  }
}
