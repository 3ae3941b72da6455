import type { Persistence } from "../master/durability.ts";
import type { Fault } from "../plan/fault.ts";
import {
  type Evidence,
  faults,
  getsAfter,
  getsWhileHeld,
  hasVotesOf,
  onlyWith,
  restores,
  struckWhileHolding,
  winsAVoteWhileHeld,
} from "./evidence.ts";
import type { Scenarios } from "./scenario.ts";
import { A, B, C, cutOff, D, E, onceHeld, type Sketch, sketched, ttl, use } from "./sketch.ts";
import { kleppmann, redisDocumentation } from "./sources.ts";

const fsync = redisDocumentation('"Performance, crash recovery and fsync"');
const failover = redisDocumentation('"Why failover-based implementations are not enough"');

function crash(how: "process" | "power", downFor: number): Fault {
  return onceHeld(1, { kind: "crash", masters: [C], how, downFor });
}

/** Client 0 reaches A, B and C, client 1 reaches C, D and E: C alone stands between them. */
function betweenTwo(fault: Fault, persistence?: Persistence, cutFor = 1500): Sketch {
  return {
    script: [[use(10, 1000, 10)], [use(300, 200, 2)]],
    faults: [cutOff(0, [D, E], cutFor), cutOff(1, [A, B], cutFor), fault],
    ...(persistence ? { persistence } : {}),
  };
}

const takesC: readonly Evidence[] = [
  faults(3),
  struckWhileHolding(0),
  hasVotesOf(0, A, B, C),
  hasVotesOf(1, C, D, E),
  getsWhileHeld(1, 0),
];
/** The restart guard keeps C from voting: it is the other library that takes it. */
const takesCUnguarded: readonly Evidence[] = [
  faults(3),
  struckWhileHolding(0),
  hasVotesOf(0, A, B, C),
  onlyWith("redlock-5", hasVotesOf(1, C, D, E)),
  onlyWith("redlock-5", getsWhileHeld(1, 0)),
  onlyWith("quorlock", getsAfter(1, 0)),
];
/** The masters are declared new before the run begins. */
const restartGuard = { settings: { restartGuard: { maxTtl: ttl } } };
const guarded = { quorlock: "safe", "redlock-5": "overlap" } as const;

const waitsForC: readonly Evidence[] = [
  faults(3),
  struckWhileHolding(0),
  hasVotesOf(0, A, B, C),
  getsAfter(1, 0),
];

/** Masters that forget a vote, or would if it were not for their disk. */
export const memoryLoss: Scenarios = {
  "crash-without-persistence": {
    title: "A voter crashes and comes back empty",
    story:
      "Client 0 holds by the votes of A, B and C. C crashes and is back after 10 ms with no key. Client 1, which " +
      "reaches C, D and E, has a majority as well.",
    source: kleppmann('"Breaking Redlock with bad timings"'),
    plan: sketched(betweenTwo(crash("process", 10), { mode: "none" })),
    shows: takesC,
    expected: { quorlock: "overlap", "redlock-5": "overlap" },
    safeWith: "the restart guard",
  },
  "crash-without-persistence-guarded": {
    title: "A voter crashes and comes back empty, with the restart guard",
    story:
      "Client 0 holds by the votes of A, B and C. C crashes and is back after 10 ms with no key. The first client that asks it " +
      "finds another process than the one it knows: C gives no vote until every lock that it may have forgotten has expired.",
    source: kleppmann('"Breaking Redlock with bad timings"'),
    plan: sketched({ ...betweenTwo(crash("process", 10), { mode: "none" }), ...restartGuard }),
    shows: takesCUnguarded,
    expected: guarded,
    with: "the restart guard",
  },
  "slow-boot-guarded": {
    title: "The same, and its clock is slow until NTP sets it right",
    story:
      "Client 0 holds by the votes of A, B and C. C comes back with no key and a clock that is an hour slow, and is put " +
      "into quarantine. Its clock is set, and the key that measures the quarantine is gone at once. By the clocks of the " +
      "clients it is not over: C gives no vote.",
    source: kleppmann('"Breaking Redlock with bad timings"'),
    plan: sketched({
      ...betweenTwo(crash("process", 10), { mode: "none" }),
      faults: [
        cutOff(0, [D, E], 1500),
        cutOff(1, [A, B], 1500),
        crash("process", 10),
        onceHeld(1, { kind: "step", clients: [], masters: [C], by: -3_600_000 }),
        onceHeld(500, { kind: "step", clients: [], masters: [C], by: 3_600_000 }),
      ],
      areClocksSynced: true,
      ...restartGuard,
    }),
    shows: [faults(5), ...takesCUnguarded.slice(1)],
    expected: guarded,
    with: "the restart guard",
  },
  "power-loss-with-aof-everysec": {
    title: "A voter loses power before its log is on disk",
    story:
      "Client 0 holds by the votes of A, B and C. C keeps an append-only file, written to disk once a second. It " +
      "loses power before the second is over, and the vote with it. Client 1, which reaches C, D and E, has a " +
      "majority as well.",
    source: fsync,
    plan: sketched({ ...betweenTwo(crash("power", 10), { mode: "aof-everysec" }), ...restartGuard }),
    shows: takesCUnguarded,
    expected: guarded,
    with: "the restart guard",
  },
  "power-loss-with-aof-always": {
    title: "A voter loses power with every vote on disk",
    story:
      "Client 0 holds by the votes of A, B and C. C answers only when its vote is on disk (`appendfsync always`). It " +
      "loses power, and comes back with the key of client 0. Client 1, which reaches C, D and E, has to wait.",
    source: fsync,
    plan: sketched(betweenTwo(crash("power", 10), { mode: "aof-always" })),
    shows: [...waitsForC, restores(C)],
    expected: { quorlock: "safe", "redlock-5": "safe" },
  },
  "restart-delayed-beyond-ttl": {
    title: "A voter comes back empty, after a ttl",
    story:
      "Client 0 holds by the votes of A, B and C. C crashes without having kept anything, and is kept down for longer " +
      "than any lock can live. Every lock that it has forgotten is over when it votes for client 1.",
    source: fsync,
    plan: sketched({
      ...betweenTwo(crash("process", 1.2 * ttl), { mode: "none" }, 3500),
      script: [[use(10, 2400, 24)], [use(2200, 200, 2)]],
    }),
    shows: [...waitsForC, hasVotesOf(1, C, D, E)],
    expected: { quorlock: "safe", "redlock-5": "safe" },
  },
  "failover-of-the-only-master": {
    title: "One master with a replica",
    story:
      "There is one master, and its replica lags by half a second. The master votes for client 0 and dies; the " +
      "replica takes its place without the key, and votes for client 1.",
    source: failover,
    plan: sketched({
      ...restartGuard,
      masters: 1,
      script: [[use(10, 1000, 10)], [use(300, 200, 2)]],
      faults: [onceHeld(1, { kind: "promote", masters: [A], lag: 500 })],
    }),
    shows: [faults(1), struckWhileHolding(0), onlyWith("redlock-5", getsWhileHeld(1, 0))],
    expected: guarded,
    with: "the restart guard",
  },
  "failover-of-one-of-three-voters": {
    title: "A replica takes the place of one of three voters",
    story:
      "Client 0 holds by the votes of A, B and C. A replica that never received the vote takes C's place. Client 1, " +
      "which reaches C, D and E, has a majority as well.",
    source: failover,
    plan: sketched({
      ...betweenTwo(onceHeld(1, { kind: "promote", masters: [C], lag: 500 })),
      ...restartGuard,
    }),
    shows: takesCUnguarded,
    expected: guarded,
    with: "the restart guard",
  },
  "failover-of-one-of-five-voters": {
    title: "A replica takes the place of one of five voters",
    story:
      "All five masters have voted for client 0. A replica that never received the vote takes C's place and votes " +
      "for client 1. One vote is no majority: client 1 waits.",
    source: failover,
    plan: sketched({
      script: [[use(10, 1000, 10)], [use(300, 200, 2)]],
      faults: [onceHeld(1, { kind: "promote", masters: [C], lag: 500 })],
    }),
    shows: [faults(1), hasVotesOf(0, A, B, C, D, E), winsAVoteWhileHeld(1, C, 0), getsAfter(1, 0)],
    expected: { quorlock: "safe", "redlock-5": "safe" },
  },
  "flushall-on-c": {
    title: "FLUSHALL on one of three voters",
    story:
      "Client 0 holds by the votes of A, B and C. An operator runs FLUSHALL on C. Client 1, which reaches C, D and E, " +
      "has a majority as well.",
    source: fsync,
    plan: sketched({ ...betweenTwo(onceHeld(1, { kind: "flush", masters: [C] })), ...restartGuard }),
    shows: takesCUnguarded,
    expected: guarded,
    with: "the restart guard",
  },
};
