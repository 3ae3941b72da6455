import { knownScript, questionsIn } from "@quorlock/simulation/mutants";

/** One operation of a command on one resource, as the specification knows it. */
export interface Operation {
  /** _outside_: of a client that the trace leaves out. */
  readonly does: "vote" | "claim" | "repair" | "extend" | "delete" | "outside";
  readonly key: string;
  /** Empty for _outside_. */
  readonly token: string;
  /** ms; 0 for a delete. */
  readonly ttl: number;
  /** Whether it joins the queue where it is refused. */
  readonly joins?: boolean;
  /** Of a delete: whether its entry stays in the queue. */
  readonly stays?: boolean;
}

/** The requests of a command, in its order; none for one that concerns no lock. */
export function operationsOf(command: string, args: readonly string[]): readonly Operation[] {
  if (command === "SET") return claims("vote", [args[0]!], args[1]!, args[4] ?? args[3] ?? "0");
  if (!command.startsWith("EVAL")) return [];
  const count = Number(args[1]);
  const keys = args.slice(2, 2 + count);
  return ofScript(knownScript(args[0]!)?.name ?? "", keys, args.slice(2 + count));
}

function ofScript(name: string, keys: readonly string[], args: readonly string[]): readonly Operation[] {
  const [first = "", second = "", third = ""] = args;
  if (name === "claimScript") {
    return claims(third === "0" ? "extend" : "claim", keys, first, second);
  }
  if (name === "enqueueScript") return joining(claims("vote", keys, first, second));
  if (name === "releaseScript" || name === "leaveScript") return deletes(keys, first);
  if (name === "guardedLeaveScript") return deletes(keys, second);
  if (name === "guardedClaimScript") return ofKind(first, keys, second, third);
  if (name === "voteBatchScript")
    return keys.flatMap((key, index) => claims("vote", [key], args[index + 1]!, first));
  if (name === "releaseBatchScript") return keys.flatMap((key, index) => deletes([key], args[index]!));
  if (!/batchScript$/i.test(name)) return [];
  return questionsIn(first, keys, args.slice(1)).flatMap((one) =>
    ofKind(one.kind, one.keys, one.args[0], one.numbers[0]),
  );
}

/** By the letters of the batch script. */
function ofKind(kind: string, keys: readonly string[], token = "", ttl: string): readonly Operation[] {
  if (kind === "v") return claims("vote", keys, token, ttl);
  if (kind === "u") return claims("vote", keys.slice(0, -1), token, ttl);
  if (kind === "q") return joining(claims("vote", keys, token, ttl));
  if (kind === "p") return claims("repair", keys, token, ttl);
  if (kind === "e") return claims("extend", keys, token, ttl);
  return kind === "r" || kind === "l" ? deletes(keys, token) : [];
}

function claims(does: Operation["does"], keys: readonly string[], token: string, ttl: string): Operation[] {
  return keys.map((key) => ({ does, key, token, ttl: Number(ttl) }));
}

function joining(operations: readonly Operation[]): Operation[] {
  return operations.map((operation) => ({ ...operation, joins: true }));
}

function deletes(keys: readonly string[], token: string): Operation[] {
  return keys.map((key) => ({ does: "delete", key, token, ttl: 0 }));
}

/** A token is that of a waiter, with the number of its round. */
export function waiterOf(token: string): { readonly waiter: string; readonly round: number } {
  const [, waiter = token, round = "1"] = /^(.+)\.(\d+)$/s.exec(token) ?? [];
  return { waiter, round: Number(round) };
}
