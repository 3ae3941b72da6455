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
import { batch, guardedClaim, guardedLeave, leave, releaseBatch, voteBatch, withNext } from "./batch.ts";
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
  claimScript: { script: claimScript, writtenFrom: "6494157d99644ff33f3677ed7a34f962f6c1c931" },
  enqueueScript: { script: enqueueScript, writtenFrom: "a85b708f3d6f69c8a9ace03a7842efb659fd8b6c" },
  releaseScript: { script: releaseScript, writtenFrom: "57752b4b01b4ccb17c8cdfebbe1ac4fa97b5aadc" },
  leaveScript: { script: leaveScript, writtenFrom: "af687390c142923747a36cfb58e926be8116fe8f" },
  guardedClaimScript: { script: guardedClaimScript, writtenFrom: "225bf4f6a6f5423d2f2060452387e18c0cf29212" },
  guardedLeaveScript: { script: guardedLeaveScript, writtenFrom: "e31c9249751612902aed61654e4cf8fac700c5e2" },
  voteBatchScript: { script: voteBatchScript, writtenFrom: "eb2e2bc008185f91f4f76726243189ced38b357d" },
  releaseBatchScript: { script: releaseBatchScript, writtenFrom: "2f43a819e366374cc6967de80823b7d1e8db29b5" },
  batchScript: { script: batchScript, writtenFrom: "18c20dfb2c58482a1e2e71d89d13596f1ee0723d" },
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
