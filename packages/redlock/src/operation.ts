import type { Answer, Claim, Fault, ReleaseAnswer } from "./node.ts";
import { claimScript, releaseScript, type Script } from "./scripts.ts";

type Args = readonly (string | number)[];

/** One thing that a master is asked to do, alone or among others in a batch. */
export interface Operation {
  /** As the batch script knows them: a vote; an extension that repairs, or does not; a release. */
  readonly kind: "v" | "p" | "e" | "r";
  readonly keys: readonly string[];
  readonly tokens: readonly string[];
  /** ms; 0 for a release. */
  readonly ttl: number;
  /** Whom it is for: what was given up is not sent any more. `undefined` where it has to be sent in any case. */
  readonly claim: Claim | undefined;
  readonly settle: (answer: Answer | ReleaseAnswer | Fault) => void;
}

/** The script that does it alone, with its arguments. */
export function aloneIn({ kind, keys, tokens, ttl }: Operation): { script: Script; args: Args } {
  if (kind === "r") return { script: releaseScript, args: [keys.length, ...keys, ...tokens] };
  return { script: claimScript, args: [keys.length, ...keys, tokens[0]!, ttl, kind === "e" ? 0 : 1] };
}

/** The arguments of the batch script for all of them. */
export function batchOf(operations: readonly Operation[]): Args {
  const args: (string | number)[] = [0];
  let list = "";
  for (const { kind, keys, tokens, ttl } of operations) {
    for (const key of keys) args.push(key);
    list += `${kind}${keys.length},${kind === "r" ? tokens.length : ttl};`;
  }
  args[0] = args.length - 1;
  args.push(list);
  for (const { tokens } of operations) for (const token of tokens) args.push(token);
  return args;
}

/** What a reply says; `undefined` where it is no answer to the operation. */
export function answerIn({ kind, keys }: Operation, reply: unknown): Answer | ReleaseAnswer | undefined {
  if (typeof reply === "number") {
    if (kind === "r") return { vote: reply === keys.length ? "yes" : "no" };
    return { vote: "yes", remaining: lifetime(reply) };
  }
  if (kind === "r" || !Array.isArray(reply)) return undefined;
  const [index, second, third] = reply as readonly unknown[];
  const resource = typeof index === "number" ? keys[index - 1] : undefined;
  if (resource === undefined || typeof third !== "number") return undefined;
  const owner = typeof second === "string" ? second : undefined;
  return { vote: "no", resource, owner, remaining: lifetime(third) };
}

/** The error in a reply of the batch script, if it is one. */
export function errorIn(reply: unknown): string | undefined {
  if (!Array.isArray(reply) || reply[0] !== 0) return undefined;
  return typeof reply[1] === "string" ? reply[1] : undefined;
}

/** PTTL in words: -2 is no key, -1 a key without expiry. */
export function lifetime(pttl: number): number {
  if (pttl === -1) return Number.POSITIVE_INFINITY;
  return Math.max(0, pttl);
}
