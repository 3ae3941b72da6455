import { rights } from "@quorlock/redlock/internal";
import { counted } from "../output.ts";
import {
  longestNodeTimeout,
  median,
  rateOf,
  roundTripsOf,
  settingsFor,
  shortestNodeTimeout,
  surelyOff,
} from "./advice.ts";
import { membershipOf } from "./membership.ts";
import { commandsNeeded, type Observation, type ObserveOptions } from "./observe.ts";
import { remedies, unreachable } from "./remedies.ts";

// Findings about all masters, from the observations of them. No check asks anything, and none passes without an answer.

export type Status = "pass" | "warn" | "fail" | "unknown";
export type Observed = Readonly<Record<string, string | number | boolean | readonly string[] | null>>;

export interface Finding {
  /** `group.name`: it never changes. */
  readonly id: string;
  readonly status: Status;
  /** Null where it is about the list of masters. */
  readonly master: string | null;
  readonly message: string;
  /** Null where there is nothing to do. */
  readonly remedy: string | null;
  readonly observed: Observed;
}

export type CheckOptions = Pick<ObserveOptions, "guard">;

/** The remedy is that of the check, unless there is a better one. */
type Verdict = Omit<Finding, "id" | "master" | "remedy"> & { readonly remedy?: string };

/** A check of one master, which may look at all of them. */
type Check = (one: Observation, all: readonly Observation[], options: CheckOptions) => Verdict;

const verdict =
  (status: Status) =>
  (message: string, observed: Observed = {}): Verdict => ({ status, message, observed });
const [pass, warn, fail] = [verdict("pass"), verdict("warn"), verdict("fail")];

/** The question that would have answered was refused, or the answer leaves it out. */
function unknown(one: Observation, question: string, what: string): Verdict {
  const code = one.unreachable ?? one.refused.get(question);
  const why = code === undefined ? "is not told" : `is not known (${code})`;
  const remedy = one.unreachable
    ? "make the master reachable, and ask again"
    : `let the user call ${question.replace("|", " ").toUpperCase()}, or look it up yourself`;
  return { status: "unknown", message: `${what} ${why}`, remedy, observed: { code: code ?? null } };
}

function numberIn({ info }: Observation, field: string): number | undefined {
  const value = info[field];
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** Whether a command was refused by one of these codes. */
function refusedBy({ refused }: Observation, ...codes: readonly string[]): string | undefined {
  return [...refused.values()].find((code) => codes.includes(code));
}

type Values = (each: Observation) => readonly string[];

/** The masters before this one that share a value with it. */
function sharing(one: Observation, all: readonly Observation[], valuesOf: Values): readonly Observation[] {
  const own = valuesOf(one);
  const before = all.slice(0, all.indexOf(one));
  return before.filter((other) => valuesOf(other).some((value) => own.includes(value)));
}

/** The masters before this one that are the same server. */
function sameServers(one: Observation, all: readonly Observation[]): readonly Observation[] {
  return sharing(one, all, ({ name, runIds }) => [name, ...runIds]);
}

/** Those that are other servers, since one server has everything in common with itself. */
function others(one: Observation, all: readonly Observation[], valuesOf: Values): readonly Observation[] {
  const same = sameServers(one, all);
  return sharing(one, all, valuesOf).filter((other) => !same.includes(other));
}

function namesOf(some: readonly Observation[]): string {
  return [...new Set(some.map(({ name }) => name))].join(", ");
}

function shown(value: number): string {
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}

function rounded(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}

const isIndependent: Readonly<Record<string, Check>> = {
  "same-server"(one, all) {
    const same = sameServers(one, all);
    const observed = { runId: one.info["run_id"] ?? null };
    if (same.length > 0) return fail(`is the same server as ${namesOf(same)}`, observed);
    if (one.runIds.length === 0) return unknown(one, "info", "its run_id");
    return pass("is not named twice", observed);
  },
  replication(one, all) {
    const id = one.info["master_replid"];
    if (id === undefined) return unknown(one, "info", "its replication");
    const replicas = numberIn(one, "connected_slaves") ?? 0;
    const observed = { masterReplid: id, replicas };
    const same = others(one, all, ({ info }) => [info["master_replid"] ?? ""]);
    if (same.length > 0) return fail(`has the data of ${namesOf(same)} by replication`, observed);
    if (replicas === 0) return pass("replicates with nothing", observed);
    return warn(`has a replica: a failover to it would forget the latest locks`, observed);
  },
  replica(one) {
    const { role } = one.info;
    const isReplica = role === "slave" || refusedBy(one, "READONLY") !== undefined;
    if (isReplica) return fail("is a replica: it takes no writes", { role: role ?? null });
    if (role === undefined) return unknown(one, "info", "its role");
    return pass("is a master", { role });
  },
  "cluster-node"(one) {
    const enabled = one.info["cluster_enabled"];
    const isNode = enabled === "1" || refusedBy(one, "MOVED", "CLUSTERDOWN") !== undefined;
    if (isNode) return fail("is a node of a Cluster: it has only some of the keys", { clusterEnabled: true });
    if (enabled === undefined) return unknown(one, "info", "whether it is a node of a Cluster");
    return pass("is no node of a Cluster", { clusterEnabled: false });
  },
  proxy(one) {
    const servers = new Set(one.runIds).size;
    const observed = { connections: one.runIds.length, servers };
    if (servers > 1) return fail(`leads to ${servers} servers, by the connection`, observed);
    const question = one.refused.has("info") ? "info" : "connection";
    if (one.runIds.length < 2) return unknown(one, question, "whether it is always the same server");
    return pass("is one server on each connection", observed);
  },
  "same-host"(one, all) {
    const same = others(one, all, ({ hosts }) => hosts);
    const observed = { addresses: one.hosts };
    if (same.length > 0) return warn(`runs on the same host as ${namesOf(same)}`, observed);
    if (!one.answered.has("client|info")) return unknown(one, "client|info", "its own address");
    return pass("shares its host with no other", observed);
  },
};

const isDurable: Readonly<Record<string, Check>> = {
  eviction(one) {
    const { maxmemory_policy: policy } = one.info;
    const [limit, evicted] = [numberIn(one, "maxmemory"), numberIn(one, "evicted_keys")];
    if (policy === undefined || limit === undefined || evicted === undefined)
      return unknown(one, "info", "its eviction");
    const observed = { policy, maxmemory: limit, evictedKeys: evicted };
    if (limit > 0 && policy !== "noeviction")
      return fail(`may evict locks: maxmemory-policy is ${policy}`, observed);
    if (evicted > 0) return fail(`has evicted ${counted(evicted, "key")} since it started`, observed);
    return pass("evicts nothing", observed);
  },
  memory(one) {
    const used = numberIn(one, "used_memory");
    const limit = numberIn(one, "maxmemory") || numberIn(one, "total_system_memory");
    const observed = { usedMemory: used ?? null, limit: limit ?? null };
    if (refusedBy(one, "OOM")) return fail("refuses writes: its memory is full", observed);
    if (used === undefined || limit === undefined) return unknown(one, "info", "its memory");
    const percent = Math.round((100 * used) / limit);
    if (percent < 90) return pass(`has used ${percent} % of its memory`, observed);
    return warn(`has used ${percent} % of its memory: it refuses locks when it is full`, observed);
  },
  persistence(one, _, { guard }) {
    const aof = one.info["aof_enabled"];
    // `restartGuard` needs INFO as well.
    if (aof === undefined) return unknown(one, "info", "its persistence");
    if (guard) return pass("may forget: the clients use restartGuard", { aofEnabled: aof === "1" });
    if (aof !== "1")
      return warn("forgets its locks in a crash: it keeps no append-only file", { aofEnabled: false });
    if (one.fsync === undefined) return unknown(one, "config|get", "when its append-only file is written");
    const observed = { aofEnabled: true, fsync: one.fsync };
    if (one.fsync === "always") return pass("keeps an append-only file, and each write of it", observed);
    return warn(`forgets the last locks in a power failure: appendfsync is ${one.fsync}`, observed);
  },
  writes(one) {
    const aof = one.info["aof_last_write_status"];
    const statuses = [one.info["rdb_last_bgsave_status"], one.info["aof_last_bgrewrite_status"]];
    const observed = { aofWrite: aof ?? null, rdbSave: statuses[0] ?? null, aofRewrite: statuses[1] ?? null };
    const code = refusedBy(one, "MISCONF", "NOREPLICAS");
    const remedy = "set min-replicas-to-write 0: a master for locks has no replicas";
    if (code === "NOREPLICAS") return { ...fail(`misses replicas (${code})`, observed), remedy };
    if (code) return fail(`refuses writes (${code})`, observed);
    if (aof === "err") return fail("could not write its append-only file", observed);
    if (statuses.includes("err")) return warn("could not save its data to the disk", observed);
    if (statuses[0] === undefined) return unknown(one, "info", "whether it can write to its disk");
    return pass("could write to its disk", observed);
  },
  fork(one) {
    const micros = numberIn(one, "latest_fork_usec");
    if (micros === undefined) return unknown(one, "info", "how long a fork takes");
    const said = `stood still for ${shown(micros / 1000)} ms in its last fork`;
    const isLong = micros / 1000 > shortestNodeTimeout;
    return (isLong ? warn : pass)(said, { latestForkMs: micros / 1000 });
  },
  clock(one, all) {
    const best = bestReading(one);
    if (!best) return unknown(one, "time", "its clock");
    const clocks = all.flatMap((each) => bestReading(each)?.ahead ?? []);
    // The majority of three is right; of fewer masters, this machine.
    const off = best.ahead - (clocks.length >= 3 ? median(clocks) : 0);
    const uncertainty = best.roundTrip / 2 + 1;
    const rate = rateOf(one.readings);
    const observed = {
      offsetMs: rounded(off),
      uncertaintyMs: rounded(uncertainty),
      rate: rate ? rounded(1 + rate.excess, 4) : null,
    };
    if (rate && surelyOff(rate) > 0.01) {
      const [percent, error] = [100 * rate.excess, 100 * rate.uncertainty].map(Math.abs).map(shown);
      return fail(
        `has a clock ${percent} % too ${rate.excess > 0 ? "fast" : "slow"} (± ${error} %)`,
        observed,
      );
    }
    const side = off > 0 ? "ahead" : "behind";
    // `clockWatch` reports such an offset by default.
    const isFar = Math.abs(off) - uncertainty > 1000;
    const said = `has a clock ${shown(Math.abs(off))} ms ${side} (± ${shown(uncertainty)} ms)`;
    return (isFar ? warn : pass)(said, observed);
  },
};

/** Whether the master has told this code: after it has looked at the rights of the user. */
function isReply(code = "CLOSED"): boolean {
  return !/^(E[A-Z]{3,}|CLOSED|TIMEOUT)$/.test(code);
}

function bestReading({ readings }: Observation): Observation["readings"][number] | undefined {
  return readings.toSorted((one, other) => one.roundTrip - other.roundTrip)[0];
}

const isUsable: Readonly<Record<string, Check>> = {
  reachable(one) {
    // The last ones end an observation that has begun well.
    const code = one.unreachable ?? refusedBy(one, "LOADING", "ETIMEDOUT", "CLOSED", "ECONNRESET", "EPIPE");
    if (code !== undefined) {
      const [message = "is not reachable", remedy] = unreachable[code] ?? [];
      return { ...fail(`${message} (${code})`, { code }), ...(remedy && { remedy }) };
    }
    return pass("answers");
  },
  version(one) {
    const { redis_version: redis, valkey_version: valkey } = one.info;
    const version = valkey ?? redis ?? "";
    const [major = Number.NaN, minor = 0] = version.split(".").map(Number);
    const number = version === "" ? Number.NaN : major + minor / 100;
    if (Number.isNaN(number)) return unknown(one, "info", "its version");
    const observed = { server: valkey === undefined ? "redis" : "valkey", version };
    if (number < 2.08) return fail(`is version ${version}, which lacks what a lock needs`, observed);
    if (number < 6.02) return warn(`is version ${version}, which gets no fixes and is not tested`, observed);
    return pass(`is version ${version}`, observed);
  },
  clients(one) {
    const [used, limit] = [numberIn(one, "connected_clients"), numberIn(one, "maxclients")];
    if (used === undefined || limit === undefined) return unknown(one, "info", "its number of connections");
    const said = `has ${used} of ${counted(limit, "connection")}`;
    const isNearlyFull = used > 0.8 * limit;
    return (isNearlyFull ? warn : pass)(said, { connectedClients: used, maxclients: limit });
  },
  scripts(one, _, { guard }) {
    const code = one.refused.get("eval");
    if (code === "NOPERM" || code === "ERR") return fail(`refuses scripts (${code})`, { code });
    if (!one.answered.has("eval")) return unknown(one, "eval", "whether it runs scripts");
    const missing = commandsNeeded(guard).filter((name) => one.refused.get(name) === "ERR");
    const said = `does not know what locks need, or has renamed it: ${missing.join(" ")}`;
    const remedy = "give it its name again (rename-command)";
    if (missing.length > 0) return { ...fail(said, { missing }), remedy };
    return pass("runs scripts");
  },
  "undeclared-keys"(one) {
    const code = one.refused.get("undeclared");
    if (code === "ERR") return fail("refuses keys that a script has not declared", { code });
    const question = one.refused.has("eval") ? "eval" : "undeclared";
    if (!one.answered.has("undeclared"))
      return unknown(one, question, "whether scripts may use undeclared keys");
    return pass("lets scripts use keys that they have not declared");
  },
  subscribe(one) {
    const question = one.refused.has("message") ? "message" : "subscribe";
    const code = one.refused.get(question);
    if (code === "NOPERM" || code === "ERR")
      return warn(`refuses messages (${code}): waiters poll`, { code });
    if (one.isHeard === false) return warn("does not deliver messages: waiters poll");
    if (!one.isHeard) return unknown(one, question, "whether it delivers messages");
    return pass("delivers messages");
  },
  permissions(one, _, { guard }) {
    // A message that is refused is found by `subscribe`.
    const names = commandsNeeded(guard).filter((name) => name !== "publish" && name !== "subscribe");
    const refused = names.filter((name) => one.refused.get(name) === "NOPERM");
    const isOfKeys = one.refused.has(rights.keysOfQueues);
    const missing = isOfKeys ? [rights.keysOfQueues] : refused.map((name) => `+${name}`);
    if (missing.length > 0) return fail(`forbids what a lock needs: ${missing.join(" ")}`, { missing });
    const isAllowed = (name: string): boolean =>
      one.answered.has(name) || (name !== "eval" && isReply(one.refused.get(name)));
    const silent = names.find((name) => !isAllowed(name));
    if (silent) return unknown(one, silent, "which commands are allowed");
    return pass("allows every command of a lock");
  },
  "round-trip"(one) {
    const times = roundTripsOf(one);
    if (times.length === 0) return unknown(one, "time", "its round trip");
    const [middle, longest] = [median(times), Math.max(...times)];
    const isLong = middle > shortestNodeTimeout || longest > longestNodeTimeout;
    const said = `answers within ${shown(middle)} ms, ${shown(longest)} ms at most`;
    return (isLong ? warn : pass)(said, { medianMs: rounded(middle, 2), maxMs: rounded(longest, 2) });
  },
  "cold-connection"(one) {
    const { firstAnswer } = one;
    if (firstAnswer === undefined) return unknown(one, "info", "the time to the first answer");
    const said = `gives the first answer on a new connection after ${shown(firstAnswer)} ms`;
    return (firstAnswer > longestNodeTimeout ? warn : pass)(said, { firstAnswerMs: rounded(firstAnswer) });
  },
};

/** The checks of one master. Three more are about all of them: `independent.even`, `independent.membership` and `usable.settings`. */
export const groups: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  independent: isIndependent,
  durable: isDurable,
  usable: isUsable,
};

/** An even number needs as many votes as the next odd one, and survives no more failures. */
function evenNumber({ length }: readonly Observation[]): Verdict {
  const spare = Math.ceil(length / 2) - 1;
  const observed = { masters: length };
  if (length % 2 === 0)
    return warn(`${length} masters survive the failure of ${spare}, as ${length - 1} do`, observed);
  const said =
    length === 1
      ? "1 master: its failure is that of all locks"
      : `${length} masters survive the failure of ${spare}`;
  return pass(said, observed);
}

/** Clients whose lists of masters differ too much do not exclude each other. */
function membership(all: readonly Observation[]): Verdict {
  if (!all.some(({ owners }) => owners)) return verdict("unknown")("no master has told its clients");
  const { clients, conflict } = membershipOf(all);
  const observed = { clients };
  if (!conflict) return pass(`the lists of ${counted(clients, "client")} go together`, observed);
  const [one, other] = conflict;
  return fail(`${one} has other masters than ${other}: a majority of each may share no master`, observed);
}

function settings(all: readonly Observation[]): Verdict {
  const advice = settingsFor(all);
  if (!advice) return verdict("unknown")("no master has told its time");
  const { nodeTimeout, ttl, driftFactor } = advice;
  const said = `nodeTimeout ${nodeTimeout} ms, ttl ${ttl} ms or more, driftFactor ${driftFactor}`;
  return pass(said, { nodeTimeout, ttl, driftFactor });
}

function complete(id: string, master: string | null, { remedy, observed, ...rest }: Verdict): Finding {
  const known = rest.status === "pass" ? null : (remedy ?? remedies[id]!);
  return { id, master, ...rest, remedy: known, observed };
}

/** In the order of the groups: each check for each master, then those of all masters. */
export function findingsOf(all: readonly Observation[], options: CheckOptions): readonly Finding[] {
  const ofMasters = Object.entries(groups).flatMap(([group, checks]) =>
    Object.entries(checks).flatMap(([name, check]) =>
      all.map((one) => complete(`${group}.${name}`, one.name, check(one, all, options))),
    ),
  );
  const even = complete("independent.even", null, evenNumber(all));
  const lists = complete("independent.membership", null, membership(all));
  return [...ofMasters, even, lists, complete("usable.settings", null, settings(all))];
}
