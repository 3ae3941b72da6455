import { NodeError, type NodeErrorReason } from "../errors.ts";
import type { Fault } from "./node.ts";

/** That the master `node` gave no vote, and why; `sent`: whether the command may have reached it. */
export function fault(
  node: string,
  reason: NodeErrorReason,
  detail: string,
  sent: boolean,
  cause?: unknown,
): Fault {
  return { vote: "none", error: new NodeError(node, reason, detail, cause), sent };
}

export function abandoned(node: string): Fault {
  return fault(node, "ABANDONED", "it was given up before it could be sent", false);
}

/** Held back by this client, which has sent the master as much as it may: no fault of the master's. */
export function crowdedOut(node: string, waiting: number): Fault {
  return fault(node, "ABANDONED", `${waiting} requests wait to be sent to it already`, false);
}

export function unsent(node: string, why: string): Fault {
  return fault(node, "UNREACHABLE", why, false);
}

/** It said yes, and may have said so to somebody else, and forgotten it. */
export function inQuarantine(node: string): Fault {
  return fault(node, "QUARANTINE", "it may have forgotten votes", true);
}

/**
 * A command came to this error: of the master itself, or of the connection. `tokens`: what was sent, and must not be
 * told: Redis quotes the arguments of a command that it does not know.
 */
export function failed(node: string, error: unknown, isReply: boolean, tokens: readonly string[]): Fault {
  const told = error instanceof Error ? error.message : String(error);
  const message = without(tokens, told);
  // Not the error itself: ioredis hangs the command on it, and with that the token.
  const cause = new Error(message);
  cause.name = error instanceof Error ? error.name : "Error";
  if (!isReply) return fault(node, "UNREACHABLE", message, true, cause);
  const reason = reasonIn(told);
  // The word that an error begins with is said once.
  const detail = message.startsWith(`${reason} `) ? message.slice(reason.length + 1) : message;
  return fault(node, reason, detail, true, cause);
}

export function unexpected(node: string, reply: unknown): Fault {
  // The reply may quote a token, so only its kind is told.
  const kind = Array.isArray(reply) ? "an array" : `a ${typeof reply}`;
  return fault(node, "UNEXPECTED_REPLY", `${kind} that is no answer to the command`, true);
}

/** A token shorter than this guards nothing, and would be found in any word. */
const leastToken = 8;

function without(tokens: readonly string[], text: string): string {
  const long = tokens.filter((token) => token.length >= leastToken);
  return long.reduce((rest, token) => rest.replaceAll(token, "(token)"), text);
}

/** What a permission that is missing inside a script is told by, up to Redis 7.0, and from 7.4 and Valkey 8 on. */
const missingInScript = /user executing the script can't|ACL failure in script/;

/**
 * The word a Redis error begins with. Inside a script it is not at the beginning: before version 7 an ERR quotes
 * the error, and a missing permission is an ERR in words of its own.
 */
function reasonIn(message: string): string {
  if (missingInScript.test(message)) return "NOPERM";
  const quoted = /@user_script: ?\d+: -?([A-Z]{2,})\b/.exec(message)?.[1];
  return quoted ?? /^[A-Z]+/.exec(message)?.[0] ?? "ERR";
}
