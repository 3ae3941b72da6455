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
  claimScript: { script: claimScript, writtenFrom: "b52550f3350215c2397cf1a60fa98b76c4085a86" },
  enqueueScript: { script: enqueueScript, writtenFrom: "adc4e1723a216b7d7743c76297c368cc1aaf240a" },
  releaseScript: { script: releaseScript, writtenFrom: "57752b4b01b4ccb17c8cdfebbe1ac4fa97b5aadc" },
  leaveScript: { script: leaveScript, writtenFrom: "4fc4111c8c0373810975ab0b251b61f71797702f" },
  guardedClaimScript: { script: guardedClaimScript, writtenFrom: "353037c568f502c468f2882261d9881dbcfdfb1f" },
  guardedLeaveScript: { script: guardedLeaveScript, writtenFrom: "0423b75c7fdcd5482b817fd911e846198fe084d1" },
  voteBatchScript: { script: voteBatchScript, writtenFrom: "dc49dd108de197f9d3d3c3bd60a63bb23082bb76" },
  releaseBatchScript: { script: releaseBatchScript, writtenFrom: "482db8155933c23bd46c6de8a1da5997b7701c06" },
  batchScript: { script: batchScript, writtenFrom: "cf2f527188b09e95db0cb31542b75c6bdbc6e339" },
  sharedBatchScript: { script: sharedBatchScript, writtenFrom: "ab93a5179fa7db4e5e00faaae7a9711bf7faceff" },
};

/** The scripts of records and of inspections. No rule of the protocol depends on them, so no mutant changes them. */
export const otherTwins: Readonly<
  Record<"ownerScript" | "waitersScript", TwinScript & { readonly twin: Twin }>
> = {
  ownerScript: {
    script: ownerScript,
    writtenFrom: "40346457fc5a2e0b0b1f78d95d5cb0b29a209f2a",
    twin: recordOwner,
  },
  waitersScript: {
    script: waitersScript,
    writtenFrom: "9737f7ed2cd33d06900724bbd99d7297f1bafeed",
    twin: shownWaiters,
  },
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
