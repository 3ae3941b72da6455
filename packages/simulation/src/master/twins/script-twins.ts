import {
  batchScript,
  claimScript,
  enqueueScript,
  guardedClaimScript,
  guardedLeaveScript,
  leaveScript,
  releaseBatchScript,
  releaseScript,
  type Script,
  voteBatchScript,
} from "@quorlock/redlock/internal";
import { batch, guardedClaim, guardedLeave, leave, releaseBatch, voteBatch } from "./batch.ts";
import { claim, release } from "./claims.ts";
import { checkProposal, fenced } from "./fence.ts";
import { Queue } from "./queue.ts";
import { type Rules, rules } from "./rules.ts";
import type { Twin } from "./twin.ts";

/** Each of the client's scripts by the name that it exports it under. */
export type ScriptName =
  | "claimScript"
  | "enqueueScript"
  | "releaseScript"
  | "leaveScript"
  | "guardedClaimScript"
  | "guardedLeaveScript"
  | "voteBatchScript"
  | "releaseBatchScript"
  | "batchScript";

/** A script of the client's, and what is run in its place. */
interface TwinScript {
  readonly script: Script;
  /** SHA-1 of the text that its twin was written from. */
  readonly writtenFrom: string;
}

/**
 * The client's scripts in TypeScript, function by function.
 *
 * Twins are used instead of a Lua interpreter: an interpreter takes 17 times as long (measured: see the README), and
 * would be a second implementation of Lua to trust. The risk of a twin is that it differs from its script; the
 * differential test runs both, against a real server, and a test fails when a script differs from the version that its
 * twin was written from.
 */
export const twinScripts: Readonly<Record<ScriptName, TwinScript>> = {
  claimScript: { script: claimScript, writtenFrom: "1bb551ddca4603a4aa1d7c4e29ae94d27c2010ab" },
  enqueueScript: { script: enqueueScript, writtenFrom: "8235cdde7c292e56d70ea3c4ef8333e7b3c61123" },
  releaseScript: { script: releaseScript, writtenFrom: "57752b4b01b4ccb17c8cdfebbe1ac4fa97b5aadc" },
  leaveScript: { script: leaveScript, writtenFrom: "62346fe50a1a1327a52a37ebc68fb1cf363fe808" },
  guardedClaimScript: { script: guardedClaimScript, writtenFrom: "b30172ec3bcd52cf7ebd53e5a9702d3c5e407313" },
  guardedLeaveScript: { script: guardedLeaveScript, writtenFrom: "574f39163f3874a8806c10bbff5c08933a5e88ef" },
  voteBatchScript: { script: voteBatchScript, writtenFrom: "ac203ad744c86aa64df300479918b7542cc5524b" },
  releaseBatchScript: { script: releaseBatchScript, writtenFrom: "72bba1bd30ffd5bc903eaa92076c2602b9806da7" },
  batchScript: { script: batchScript, writtenFrom: "60d271cc2e06139d365b4942131f4b3ac401237a" },
};

/** Twins of the client's scripts; with other rules, those of a mutant's. */
export function twinsWith(changed: Partial<Rules> = {}): Readonly<Record<ScriptName, Twin>> {
  const all = { ...rules, ...changed };
  return {
    claimScript: (call, keys, [token = "", ttl = "", flag, proposal = "", previous]) => {
      const create = flag === "1";
      if (proposal === "") return claim(all, call, keys, token, ttl, { create, previous });
      checkProposal(proposal);
      const isSet = create && keys.length === 1 && call("SET", keys[0]!, token, "NX", "PX", ttl) !== null;
      let granted = isSet ? Number(ttl) : claim(all, call, keys, token, ttl, { create, previous });
      if (typeof granted !== "number" && !create && all.writesBackAnyway) granted = Number(ttl);
      return typeof granted === "number" ? fenced(all, call, keys, granted, proposal) : granted;
    },
    enqueueScript: (
      call,
      keys,
      [token = "", ttl = "", ticket = "", patience = "", proposal = "", inbox = ""],
    ) => {
      checkProposal(proposal);
      const queueEntry = { token, ttl, ticket, patience, proposal, inbox };
      const granted = new Queue(all, call).enqueue(keys, queueEntry);
      if (proposal === "" || typeof granted !== "number") return granted;
      return fenced(all, call, keys, granted, proposal);
    },
    releaseScript: (call, keys, tokens) => release(all, call, keys, tokens),
    leaveScript: (call, keys, tokens) => leave(all, call, keys, tokens),
    guardedClaimScript: (call, keys, args) => guardedClaim(all, call, keys, args),
    guardedLeaveScript: (call, keys, args) => guardedLeave(all, call, keys, args),
    voteBatchScript: (call, keys, args) => voteBatch(all, call, keys, args),
    releaseBatchScript: (call, keys, tokens) => releaseBatch(all, call, keys, tokens),
    batchScript: (call, keys, args) => batch(all, call, keys, args),
  };
}

const known = new Map<string, { readonly script: Script; readonly twin: Twin }>();
const ownTwins = twinsWith();
for (const name of Object.keys(twinScripts) as ScriptName[])
  makeKnown(twinScripts[name].script, ownTwins[name]);

/** Makes a script known to every master. A digest means one text: twice is no harm. */
export function makeKnown(script: Script, twin: Twin): void {
  known.set(script.sha1, { script, twin });
}

export function scriptWith(source: string): Script | undefined {
  for (const { script } of known.values()) if (script.source === source) return script;
  return undefined;
}

export function twinOf(sha1: string): Twin | undefined {
  return known.get(sha1)?.twin;
}
