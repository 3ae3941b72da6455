import { type Reply, ReplyError } from "../reply.ts";
import { counterOf, floor, keepPast, raise } from "./fence.ts";
import type { Rules } from "./rules.ts";
import type { Call } from "./twin.ts";

const marker = "quorlock:guard";
const quarantine = "quorlock:quarantine";

const memory = "quorlock:guard:memory";
const declared = (epoch: string): string => `quorlock:guard:new:${epoch}`;

/** The guard state of a master, for the operations behind `g`: `guarded` in the scripts. */
export interface Guarded {
  /** The maxTtl of the client. */
  readonly wanted: string;
  /** The reading of the client's wall clock, ms. */
  readonly now: number;
  /** Why nothing is claimed here at all. */
  readonly why?: string;
  readonly mark?: Mark;
}

interface Mark {
  readonly replId: string;
  readonly since: string;
  /** By the wall clocks of clients, ms; 0 where it is not in quarantine. */
  readonly ends: number;
  readonly longest: string;
  readonly database: string;
  readonly state: string;
}

/** `watch` in the scripts. */
export function watch(rules: Rules, call: Call, terms: string): Guarded | undefined {
  const [, ...words] = /^(\d+),(\d+),(\d),(\d),(\d+),(\d+),(\d+)$/.exec(terms) ?? [];
  const [maxTtl, epoch = "", durable, right, wall = "", database = "", after] = words;
  if (maxTtl === undefined) return undefined;
  const now = Number(wall);
  const guarded = { wanted: maxTtl, now };
  const info = call("INFO", "replication") as string;
  const replId = /master_replid:(\S+)/.exec(info)?.[1];
  if (replId === undefined) return { ...guarded, why: "UNGUARDED its INFO has no master_replid" };
  if (!info.includes("role:master")) return { ...guarded, why: "READONLY it is a replica" };
  let before = markIn(call);
  const isKnown =
    before !== undefined &&
    before.database === database &&
    (Number(before.since) >= Number(after) || rules.trustsOlderEpoch) &&
    isMemoryOf(rules, call, before, { replId, info, isDurable: durable === "1" });
  if (isKnown && before!.replId !== replId) before = keepIfItCan(call, before!, { ...before!, replId });
  if (!isKnown && right === "0")
    return { ...guarded, why: "UNGUARDED maxTtl has not been compared with the other masters" };
  if (!isKnown && right === "3") {
    if (!before) call("SET", declared(epoch), "", "PX", "60000");
    return { ...guarded, why: "UNGUARDED maxTtl has not been compared with the other masters" };
  }
  if (isKnown && right !== "4") {
    return { ...guarded, mark: before!.state === "2" ? quarantined(rules, call, before!, now) : before! };
  }
  const longest = isKnown ? before!.longest : maxTtl;
  const since =
    before && rules.keepsEpoch
      ? before.since
      : String(Math.max(Number(before?.since ?? 0) + 1, Number(epoch)));
  const fresh = { replId, since, ends: 0, longest, database, state: "0" };
  if (right !== "2" || before) {
    const length = Number(rules.quarantine(String(Math.max(Number(before?.longest ?? 0), Number(maxTtl)))));
    call("SET", quarantine, String(length), "PX", String(length));
    return { ...guarded, mark: keep(call, { ...fresh, ends: now + length, state: "2" }) };
  }
  if (call("GET", declared(epoch)) === null)
    return { ...guarded, why: "UNGUARDED it was emptied since it was asked whether it is new" };
  return { ...guarded, mark: keep(call, fresh) };
}

/** `isMemoryOf` in the scripts. */
function isMemoryOf(
  rules: Rules,
  call: Call,
  mark: Mark,
  {
    replId,
    info,
    isDurable,
  }: { readonly replId: string; readonly info: string; readonly isDurable: boolean },
): boolean {
  const isSame = mark.replId === replId;
  if (!isSame && !/master_replid2:0+\r/.test(info) && !rules.trustsPromoted) return false;
  if (isDurable && !isSame) return true;
  if (rules.trustsLoadedMemory) return true;
  return call("GET", memory) === mark.since && call("OBJECT", "ENCODING", memory) === "raw";
}

/** One that is in quarantine: until its key has expired, and its end has passed by the client's clock. */
function quarantined(rules: Rules, call: Call, mark: Mark, now: number): Mark {
  let left = call("PTTL", quarantine) as number;
  const length = Number(call("GET", quarantine));
  if (length > 0 && left > length && rules.boundsQuarantine) {
    call("PEXPIRE", quarantine, String(length));
    left = length;
  }
  const longest = Number(mark.longest);
  let its = mark;
  if (its.ends > now + Math.max(longest, left)) {
    its = keepIfItCan(call, its, { ...its, ends: now + (left === -2 ? longest : left) });
  }
  const isOver = left === -2 && (its.ends <= now || rules.endsByTheKey);
  return isOver ? keepIfItCan(call, its, { ...its, ends: 0, state: "1" }) : its;
}

/** `bar` in the scripts: an error reply for a claim that is refused. */
export function bar(
  rules: Rules,
  call: Call,
  { why, wanted, now, mark }: Guarded,
  { kind, ttl, proposal }: { readonly kind: string; readonly ttl: string; readonly proposal: string },
): void {
  if (why !== undefined) throw new ReplyError(why);
  const { longest, state, since, ends } = mark!;
  if (longest !== wanted || Number(ttl) > Number(longest)) {
    throw new ReplyError(`MAXTTL the longest ttl is ${longest} ms here`);
  }
  if (proposal === "" && (kind === "e" || kind === "p")) return;
  if (state === "2" && !rules.votesInQuarantine) {
    const left = Math.max(call("PTTL", quarantine) as number, ends - now);
    const seeds = rules.seedsInQuarantine ? ` UNSEEDED ${since}` : "";
    throw new ReplyError(`QUARANTINE it may have forgotten votes, for ${left} ms more${seeds}`);
  }
  if (proposal !== "" && state === "1" && !rules.votesUnseeded) throw new ReplyError(`UNSEEDED ${since}`);
}

/** `guardState` in the scripts. */
export function guardState(call: Call, guarded: Guarded | undefined): Reply {
  call("INFO", "replication");
  call("OBJECT", "ENCODING", memory);
  const { longest = "0", since = "0", state = "2" } = markIn(call) ?? {};
  const left = call("PTTL", quarantine);
  const isKnown = guarded?.mark && guarded.why === undefined ? 1 : 0;
  return [Number(longest), left, since, Number(state), call("GET", floor) ?? "0", isKnown];
}

/** `restoreCounters` in the scripts; what is guarded afterwards, where it has worked. */
export function restoreCounters(
  rules: Rules,
  call: Call,
  guarded: Guarded | undefined,
  epoch: string,
  atLeast: string,
): Guarded | undefined {
  const { mark } = guarded ?? {};
  const isIts = mark && (mark.state === "1" || (mark.state === "2" && rules.seedsInQuarantine));
  if (!isIts || mark.since !== epoch) return undefined;
  raise(call, [], Math.max(counterOf(call, []), Number(atLeast)));
  keepPast(call, atLeast);
  const sound = keep(call, { ...mark, ends: 0, state: "0" });
  return { ...guarded!, mark: sound };
}

/** `inQuarantine` in the scripts. */
export function inQuarantine(guarded: Guarded | undefined): boolean {
  return guarded !== undefined && (guarded.why !== undefined || guarded.mark!.state === "2");
}

function markIn(call: Call): Mark | undefined {
  const text = (call("GET", marker) as string | null) ?? "";
  const [whole, replId = "", since = "", ends, longest = "", database = "", state = ""] =
    /^(\S+) (\d+) (\d+) (\d+) (\d+) (\d)$/.exec(text) ?? [];
  return whole === undefined ? undefined : { replId, since, ends: Number(ends), longest, database, state };
}

function keep(call: Call, mark: Mark): Mark {
  const { replId, since, ends, longest, database, state } = mark;
  call("SET", marker, `${replId} ${since} ${ends} ${longest} ${database} ${state}`);
  call("SET", memory, since);
  call("SETRANGE", memory, "0", since);
  return mark;
}

/** Where the master refuses to write it, what is there stays true. */
function keepIfItCan(call: Call, before: Mark, mark: Mark): Mark {
  try {
    return keep(call, mark);
  } catch (error) {
    if (!(error instanceof ReplyError)) throw error;
    return before;
  }
}
