import { type Reply, ReplyError } from "../reply.ts";
import { counterOf, floor, keepPast, raise } from "./fence.ts";
import type { Rules } from "./rules.ts";
import type { Call } from "./twin.ts";

const marker = "quorlock:guard";
const quarantine = "quorlock:quarantine";

/** What is known of a master to the operations behind `g`: `guarded` in the scripts. */
export interface Guarded {
  /** The maxTtl of the client. */
  readonly wanted: string;
  /** Why nothing is claimed here at all. */
  readonly why?: string;
  readonly mark?: Mark;
}

interface Mark {
  readonly runId: string;
  readonly since: string;
  readonly longest: string;
  readonly state: string;
}

/** `watch` in the scripts. */
export function watch(
  rules: Rules,
  call: Call,
  maxTtl: string,
  epoch: string,
  isDurable: string,
  right: string,
): Guarded | undefined {
  if (maxTtl === "0") return undefined;
  const runId = /run_id:(\S+)/.exec(call("INFO", "server") as string)![1]!;
  const before = markIn(call);
  const isKnown = before && (before.runId === runId || isDurable !== "0");
  if (!isKnown && right === "0") {
    return { wanted: maxTtl, why: "UNGUARDED maxTtl has not been compared with the other masters" };
  }
  let mark = before!;
  if (!isKnown) {
    const longest = before && Number(before.longest) >= Number(maxTtl) ? before.longest : maxTtl;
    mark = { runId, since: epoch, longest, state: right === "2" && !before ? "0" : "2" };
    if (mark.state === "2") call("SET", quarantine, "", "PX", rules.quarantine(longest));
    keep(call, mark);
  } else if (mark.state === "2" && call("EXISTS", quarantine) === 0) {
    mark = { ...mark, state: "1" };
    keep(call, mark);
  }
  return { wanted: maxTtl, mark };
}

/** `bar` in the scripts: an error reply for a claim that is refused. */
export function bar(
  rules: Rules,
  call: Call,
  { why, wanted, mark }: Guarded,
  { kind, ttl, proposal }: { readonly kind: string; readonly ttl: string; readonly proposal: string },
): void {
  if (why !== undefined) throw new ReplyError(why);
  const { longest, state, since } = mark!;
  if (longest !== wanted || Number(ttl) > Number(longest)) {
    throw new ReplyError(`MAXTTL the longest ttl is ${longest} ms here`);
  }
  if (proposal === "" && (kind === "e" || kind === "p")) return;
  if (state === "2" && !rules.votesInQuarantine) {
    const left = call("PTTL", quarantine) as number;
    const seeds = rules.seedsInQuarantine ? ` UNSEEDED ${since}` : "";
    throw new ReplyError(`QUARANTINE it may have forgotten votes, for ${left} ms more${seeds}`);
  }
  if (proposal !== "" && state === "1" && !rules.votesUnseeded) throw new ReplyError(`UNSEEDED ${since}`);
}

/** `findings` in the scripts. */
export function findings(call: Call): Reply {
  call("INFO", "server");
  const mark = markIn(call);
  const left = call("PTTL", quarantine);
  const its = mark ?? { longest: "0", since: "", state: "2" };
  return [Number(its.longest), left, its.since, Number(its.state), call("GET", floor) ?? "0"];
}

/** `seed` in the scripts; what is guarded afterwards, where it has worked. */
export function seed(
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
  const sound = { ...mark, state: "0" };
  keep(call, sound);
  return { ...guarded!, mark: sound };
}

/** `inQuarantine` in the scripts. */
export function inQuarantine(guarded: Guarded | undefined): boolean {
  return guarded !== undefined && (guarded.why !== undefined || guarded.mark!.state === "2");
}

function markIn(call: Call): Mark | undefined {
  const text = (call("GET", marker) as string | null) ?? "";
  const [, runId, since, longest, state] = /^(\S+) (\d+) (\d+) (\d)$/.exec(text) ?? [];
  return runId === undefined ? undefined : { runId, since: since!, longest: longest!, state: state! };
}

function keep(call: Call, { runId, since, longest, state }: Mark): void {
  call("SET", marker, `${runId} ${since} ${longest} ${state}`);
}
