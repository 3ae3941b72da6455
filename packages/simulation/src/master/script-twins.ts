import { claimScript, releaseScript, type Script } from "@quorlock/redlock";
import { type Reply, ReplyError } from "./reply.ts";

/** `redis.call`, inside a script. */
export type Call = (command: string, ...args: readonly string[]) => Reply;

/** A script as a function. Replies are Lua's: what is `nil` or `false` there is `null` here. */
export type Twin = (call: Call, keys: readonly string[], args: readonly string[]) => Reply;

/**
 * The client's scripts in TypeScript, line by line, by the SHA-1 of the Lua text each was written from.
 *
 * Why twins and not a Lua interpreter: an interpreter takes 17 times as long (measured: see the README), and would
 * be a second implementation of Lua to trust. What a twin can get wrong is that it differs from its script;
 * the differential test runs both, against a real server, and a test fails when a script's digest is not here.
 */
export const scriptTwins: ReadonlyMap<string, Twin> = new Map([
  ["010dec9b58d110ae6848cf22ebe658c2348327fd", claimTwin()],
  ["4c0c531ce3bed8b108b059ec517f4fee80154364", releaseTwin],
]);

/** The scripts that a client may send as text. */
export const clientScripts: readonly Script[] = [claimScript, releaseScript];

const peerScripts = new Map<string, { readonly script: Script; readonly twin: Twin }>();

/** Makes a script of another client known to every master. A digest means one text: twice is no harm. */
export function makeKnown(script: Script, twin: Twin): void {
  peerScripts.set(script.sha1, { script, twin });
}

export function scriptWith(source: string): Script | undefined {
  const known = [...clientScripts, ...[...peerScripts.values()].map(({ script }) => script)];
  return known.find((script) => script.source === source);
}

export function twinOf(sha1: string): Twin | undefined {
  return scriptTwins.get(sha1) ?? peerScripts.get(sha1)?.twin;
}

/** Whether a key with so much left counts as set anew, and whether it really is: what else they might say is for mutants. */
interface ClaimRules {
  readonly isShort?: (left: number, ttl: number | undefined) => boolean;
  readonly isSet?: (left: number) => boolean;
}

export function claimTwin({ isShort = isLess, isSet = () => true }: ClaimRules = {}): Twin {
  return (call, keys, args) => {
    const [token, ttlText = "", create] = args;
    const ttl = luaNumber(ttlText);
    for (const [index, key] of keys.entries()) {
      const owner = call("GET", key);
      if (owner !== token && (owner !== null || create !== "1")) {
        return [index + 1, owner, call("PTTL", key)];
      }
    }
    let shortest: number | undefined;
    for (const key of keys) {
      let left = call("PTTL", key) as number;
      if (left !== -1 && isShort(left, ttl)) {
        if (isSet(left)) call("SET", key, token!, "PX", ttlText);
        left = Number(ttl);
      }
      if (left !== -1 && (shortest === undefined || left < shortest)) shortest = left;
    }
    return [0, Math.trunc(shortest ?? -1)];
  };
}

function releaseTwin(call: Call, keys: readonly string[], args: readonly string[]): Reply {
  let deleted = 0;
  for (const key of keys) {
    const owner = call("GET", key);
    if (owner !== null && args.includes(owner as string)) deleted += call("DEL", key) as number;
  }
  return deleted;
}

/** Lua's `tonumber`, for what a client may send. */
function luaNumber(text: string): number | undefined {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  return Number.isNaN(number) ? undefined : number;
}

/** Comparing with nil is an error of the script. */
function isLess(left: number, right: number | undefined): boolean {
  if (right === undefined) throw new ReplyError("ERR user_script: attempt to compare nil with number");
  return left < right;
}
