import { batchScript, claimScript, releaseScript, type Script } from "@quorlock/redlock";
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
  ["43767932e4f0cad765e3f333f3add1e948bc9c4d", claimTwin()],
  ["d4f7801deca021216fe3f94c3da06804becdcf30", releaseTwin],
  ["b524a0f62e1f653874c7b3da771371ce96f37ddd", batchTwin],
]);

/** The scripts that a client may send as text. */
export const clientScripts: readonly Script[] = [claimScript, releaseScript, batchScript];

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
    return Math.trunc(shortest ?? -1);
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

/** Operation after operation; one that fails is a reply of its own. */
function batchTwin(call: Call, keys: readonly string[], [list = "", ...tokens]: readonly string[]): Reply {
  const claim = claimTwin();
  let key = 0;
  let token = 0;
  return [...list.matchAll(/([A-Za-z])(\d+),(\d+);/g)].map(([, kind, count, number]): Reply => {
    const own = keys.slice(key, key + Number(count));
    const from = token;
    key += own.length;
    token += kind === "r" ? Number(number) : 1;
    try {
      if (kind === "r") return releaseTwin(call, own, tokens.slice(from, token));
      const isSet =
        kind === "v" && own.length === 1 && call("SET", own[0]!, tokens[from]!, "NX", "PX", number!);
      return isSet ? Number(number) : claim(call, own, [tokens[from]!, number!, kind === "e" ? "0" : "1"]);
    } catch (error) {
      if (error instanceof ReplyError) return [0, error.message];
      throw error;
    }
  });
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
