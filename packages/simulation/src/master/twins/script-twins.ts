import { batchScript, claimScript, leaveScript, releaseScript, type Script } from "@quorlock/redlock";
import { batch } from "./batch.ts";
import { claim, release } from "./claims.ts";
import { checkProposal, fenced } from "./fence.ts";
import { Queue, queueOf } from "./queue.ts";
import { type Rules, rules } from "./rules.ts";
import type { Twin } from "./twin.ts";

/** Each of the client's scripts by the name that it exports it under. */
export type ScriptName = "claimScript" | "releaseScript" | "leaveScript" | "batchScript";

/** A script of the client's, and what is run in its place. */
interface TwinScript {
  readonly script: Script;
  /** SHA-1 of the text that its twin was written from. */
  readonly writtenFrom: string;
}

/**
 * The client's scripts in TypeScript, function by function.
 *
 * Why twins and not a Lua interpreter: an interpreter takes 17 times as long (measured: see the README), and would
 * be a second implementation of Lua to trust. What a twin can get wrong is that it differs from its script;
 * the differential test runs both, against a real server, and a test fails when a script is another than that
 * which its twin was written from.
 */
export const twinScripts: Readonly<Record<ScriptName, TwinScript>> = {
  claimScript: { script: claimScript, writtenFrom: "51db0b10e49c5e2fda15a8cea42afe1dbfa377ed" },
  releaseScript: { script: releaseScript, writtenFrom: "a9251849477cd937c9e55e02c5dbf9950c786fc9" },
  leaveScript: { script: leaveScript, writtenFrom: "b5b1a73390c357ea8a43d184cb9acaff73a3f1af" },
  batchScript: { script: batchScript, writtenFrom: "fcf6e6a0f51e3bde823c902b5d5afe235e5f9702" },
};

/** Twins of the client's scripts; with other rules, those of a mutant's. */
export function twinsWith(changed: Partial<Rules> = {}): Readonly<Record<ScriptName, Twin>> {
  const all = { ...rules, ...changed };
  return {
    claimScript: (call, keys, [token = "", ttl = "", flag, proposal]) => {
      const create = flag === "1";
      if (proposal === undefined) return claim(all, call, keys, token, ttl, { create });
      checkProposal(proposal);
      const isSet = create && keys.length === 1 && call("SET", keys[0]!, token, "NX", "PX", ttl) !== null;
      let granted = isSet ? Number(ttl) : claim(all, call, keys, token, ttl, { create });
      if (typeof granted !== "number" && !create && all.writesBackAnyway) granted = 1;
      return typeof granted === "number" ? fenced(all, call, keys, granted, proposal) : granted;
    },
    releaseScript: (call, keys, tokens) => release(all, call, keys, tokens),
    leaveScript: (call, keys, tokens) => {
      const [key] = keys;
      const isPlain = keys.length === 1 && call("GET", key!) === tokens.at(-1);
      if (isPlain && call("EXISTS", queueOf(key!)) === 0) return call("DEL", key!);
      return new Queue(all, call).leave(keys, tokens);
    },
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
