import { NodeError, type NodeErrorReason } from "../errors.ts";
import type { Fault } from "./node.ts";

/** The fault of master `node`, which gave no vote; `sent`: whether the command may have reached it. */
export function fault(
  node: string,
  reason: NodeErrorReason,
  detail: string,
  sent: boolean,
  cause?: unknown,
): Fault {
  return { is: "fault", error: new NodeError(node, reason, detail, cause), sent };
}

export function abandoned(node: string): Fault {
  return fault(node, "ABANDONED", "abandoned before it was sent", false);
}

/** Not sent, because this client has too many requests to the master in flight: not the master's fault. */
export function crowdedOut(node: string, waiting: number): Fault {
  return fault(node, "ABANDONED", `${waiting} other requests are waiting to be sent to it`, false);
}

export function unsent(node: string, why: string): Fault {
  return fault(node, "UNREACHABLE", why, false);
}

/** The master said yes, but may have voted for another client before and forgotten it. */
export function inQuarantine(node: string): Fault {
  return fault(node, "QUARANTINE", "it may have forgotten votes", true);
}

/**
 * The fault for an error of a command: a reply of the master, or a failure of the connection. `tokens` are removed
 * from the message: Redis quotes the arguments of a command that it does not know.
 */
export function failed(node: string, error: unknown, isReply: boolean, tokens: readonly string[]): Fault {
  const text = error instanceof Error ? error.message : String(error);
  const message = without(tokens, text);
  // A copy: a client library may attach the command to its error, and the command contains the token.
  const cause = new Error(message);
  cause.name = error instanceof Error ? error.name : "Error";
  if (!isReply) return fault(node, "UNREACHABLE", message, true, cause);
  const reason = reasonIn(text);
  // The message does not repeat the error's first word, which is the reason.
  const detail = message.startsWith(`${reason} `) ? message.slice(reason.length + 1) : message;
  const epoch = reason === "UNSEEDED" && /UNSEEDED (\d+)/.exec(message)?.[1];
  if (epoch) return fault(node, reason, unseededSince(epoch), true, cause);
  const lacking = reason === "NOPERM" && /'(\S+)' command/.exec(message)?.[1];
  const isUnknown = /^ERR unknown command .(get|set|evalsha)\b/i.test(message);
  const advice = lacking ? `: its rule lacks +${lacking}` : isUnknown ? ofSentinel : "";
  return fault(node, reason, `${detail}${advice}`, true, cause);
}

/** The guard reads the epoch there, from which on it restores the counters. */
function unseededSince(epoch: string): string {
  return `it has no fencing counters since epoch ${epoch}: they are restored from other masters, then it votes`;
}

/** It knows no command of a lock; nothing else lacks the first two. */
const ofSentinel = ": is this a Sentinel? Then pass a client of the master that it watches";

/** The node threw instead of answering: a command may have been sent. */
export function nodeFailed(node: string, cause: unknown): Fault {
  return fault(node, "UNEXPECTED_REPLY", `the node failed: ${String(cause)}`, true, cause);
}

export function unexpected(node: string, reply: unknown): Fault {
  // The message names only the kind of the reply, which may quote a token.
  const kind = Array.isArray(reply) ? "an array" : `a ${typeof reply}`;
  return fault(node, "UNEXPECTED_REPLY", `${kind}, which is not a valid reply to the command`, true);
}

/** A shorter token protects nothing, and would match inside other words. */
const minTokenLength = 8;

function without(tokens: readonly string[], text: string): string {
  let rest = text;
  for (const token of tokens) {
    if (token.length < minTokenLength || !text.includes(token.slice(0, minTokenLength))) continue;
    // Redis quotes the first 128 characters of the arguments: the end of the token may be missing.
    rest = rest.replaceAll(token, "(token)");
    for (let length = token.length - 1; length > minTokenLength; length -= 1)
      rest = rest.replaceAll(token.slice(0, length), "(token)");
  }
  return rest;
}

/** The texts of a missing permission inside a script, up to Redis 7.0, and from 7.4 and Valkey 8 on; and of one for EXEC. */
const missing = /user executing the script can't|ACL failure in script|^EXECABORT .+ has no permissions/;

/**
 * The first word of a Redis error. Inside a script it is not at the beginning: before version 7 an ERR quotes the
 * error, and a missing permission is an ERR with a text of its own.
 */
function reasonIn(message: string): string {
  if (missing.test(message)) return "NOPERM";
  const quoted = /@user_script: ?\d+: -?([A-Z]{2,})\b/.exec(message)?.[1];
  return quoted ?? /^[A-Z]+/.exec(message)?.[0] ?? "ERR";
}
