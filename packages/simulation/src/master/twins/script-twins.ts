import {
  batchScript,
  claimScript,
  enqueueScript,
  guardedClaimScript,
  guardedLeaveScript,
  leaveScript,
  ownerScript,
  releaseBatchScript,
  releaseScript,
  type Script,
  sharedBatchScript,
  voteBatchScript,
  waitersScript,
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
import { recordOwner, shownWaiters } from "./owner.ts";
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
  claimScript: { script: claimScript, writtenFrom: "ebf1996487ec20fb055f0c1e227e4e106e374626" },
  enqueueScript: { script: enqueueScript, writtenFrom: "d69953d9feafe69e2d8514ef2b9cbe6a9125d4b7" },
  releaseScript: { script: releaseScript, writtenFrom: "96cb332ef519d5b94aacef7bcfff07204cb6af31" },
  leaveScript: { script: leaveScript, writtenFrom: "e2b805473cd763d9f4d77ee4461f47b69be84a35" },
  guardedClaimScript: { script: guardedClaimScript, writtenFrom: "1d05c5590275efff3edceb03f9a3b6501c11272b" },
  guardedLeaveScript: { script: guardedLeaveScript, writtenFrom: "58b3aa1bc02ee01bf00c5b00935a1c295a2e077c" },
  voteBatchScript: { script: voteBatchScript, writtenFrom: "b10aaf518a89a7ad04c25b91c49b707473d50163" },
  releaseBatchScript: { script: releaseBatchScript, writtenFrom: "0df22def979351fb124ea22c928adb2e6677311e" },
  batchScript: { script: batchScript, writtenFrom: "5d397377ae2eb6f009713d5572eed908ca8c9123" },
  sharedBatchScript: { script: sharedBatchScript, writtenFrom: "659a68fcc7516c89beb05e283c2cb794d15fdc76" },
};

/** The scripts of records and of inspections. No rule of the protocol depends on them, so no mutant changes them. */
export const otherTwins: Readonly<
  Record<"ownerScript" | "waitersScript", TwinScript & { readonly twin: Twin }>
> = {
  ownerScript: {
    script: ownerScript,
    writtenFrom: "d27d581d2f6c1be5168c571246c97c6665f6aaff",
    twin: recordOwner,
  },
  waitersScript: {
    script: waitersScript,
    writtenFrom: "efa81484c11a731eec79395351f5a835eeb4656d",
    twin: shownWaiters,
  },
};

/** Twins of the client's scripts; with other rules, those of a mutant's. */
export function twinsWith(changed: Partial<Rules> = {}): Readonly<Record<ScriptName, Twin>> {
  const all = { ...rules, ...changed };
  return {
    claimScript: (call, keys, [token = "", ttl = "", flag, proposal = ""]) => {
      const create = flag === "1";
      if (proposal === "") return claim(all, call, keys, token, ttl, { create });
      checkProposal(proposal);
      const isSet = create && keys.length === 1 && call("SET", keys[0]!, token, "NX", "PX", ttl) !== null;
      let granted = isSet ? Number(ttl) : claim(all, call, keys, token, ttl, { create });
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
for (const { script, twin } of Object.values(otherTwins)) makeKnown(script, twin);

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
