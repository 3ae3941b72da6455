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
  sharedBatchScript,
  voteBatchScript,
} from "@quorlock/redlock/internal";
import {
  batch,
  guardedClaim,
  guardedLeave,
  leave,
  releaseBatch,
  sharedBatch,
  voteBatch,
  withNext,
} from "./batch.ts";
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
  | "batchScript"
  | "sharedBatchScript";

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
  claimScript: { script: claimScript, writtenFrom: "b52550f3350215c2397cf1a60fa98b76c4085a86" },
  enqueueScript: { script: enqueueScript, writtenFrom: "845d357d65eb2bb48eadc9fa9cff5a6db4f7947b" },
  releaseScript: { script: releaseScript, writtenFrom: "57752b4b01b4ccb17c8cdfebbe1ac4fa97b5aadc" },
  leaveScript: { script: leaveScript, writtenFrom: "569b639f40b19f2b83ca66dc85c0a4d7dca97b75" },
  guardedClaimScript: { script: guardedClaimScript, writtenFrom: "353037c568f502c468f2882261d9881dbcfdfb1f" },
  guardedLeaveScript: { script: guardedLeaveScript, writtenFrom: "cbeb907cb815c5a822ec8bb235c1ab916575e4da" },
  voteBatchScript: { script: voteBatchScript, writtenFrom: "dc49dd108de197f9d3d3c3bd60a63bb23082bb76" },
  releaseBatchScript: { script: releaseBatchScript, writtenFrom: "7d87375185bbe7d54212e33c6a14bcdb938f39b0" },
  batchScript: { script: batchScript, writtenFrom: "351751bd42cfd4edeb990d1a1feae8bbe901b248" },
  sharedBatchScript: { script: sharedBatchScript, writtenFrom: "af74ee719ed9f8778cba6dc3d50aa4ed2fe9e738" },
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
      const queue = new Queue(all, call);
      const granted = queue.enqueue(keys, queueEntry);
      return withNext(all, call, keys, granted, proposal, queue.next);
    },
    releaseScript: (call, keys, tokens) => release(all, call, keys, tokens),
    leaveScript: (call, keys, tokens) => leave(all, call, keys, tokens),
    guardedClaimScript: (call, keys, args) => guardedClaim(all, call, keys, args),
    guardedLeaveScript: (call, keys, args) => guardedLeave(all, call, keys, args),
    voteBatchScript: (call, keys, args) => voteBatch(all, call, keys, args),
    releaseBatchScript: (call, keys, tokens) => releaseBatch(all, call, keys, tokens),
    batchScript: (call, keys, args) => batch(all, call, keys, args),
    sharedBatchScript: (call, keys, args) => sharedBatch(all, call, keys, args),
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
