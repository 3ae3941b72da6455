import {
  faults,
  getsAfter,
  getsBetween,
  getsWhileHeld,
  hasVotesOf,
  onlyWith,
  struckWhileHolding,
  winsAVoteWhileHeld,
} from "./evidence.ts";
import type { Scenarios } from "./scenario.ts";
import { A, B, C, cutOff, D, E, onceHeld, type Sketch, sketched, use } from "./sketch.ts";
import { antirez, kleppmann, redisDocumentation } from "./sources.ts";

const jumpOfC = onceHeld(100, { kind: "step", clients: [], masters: [C], by: 20_000 });

/** Client 0 holds for as long as it may, looking all the time, and lets the keys run out; client 1 asks at `at` ms. */
function changeOfHolder(at: number): Pick<Sketch, "script" | "faults" | "settings"> {
  return {
    script: [[use(10, 2500, 100, "abandon")], [use(at, 300, 3)]],
    faults: [],
    settings: { retryDelay: 8, retryJitter: 4, retryCount: 200 },
  };
}

/** Clocks that are wrong. */
export const clockFaults: Scenarios = {
  "clock-jump-on-c": {
    title: "The clock of one of three voters jumps",
    story:
      "Client 0 reaches A, B and C only, and holds by their votes. The clock of C jumps 20 s forward, and C's key is " +
      "gone. Client 1, which reaches C, D and E only, has a majority as well.",
    source: kleppmann('"Breaking Redlock with bad timings"'),
    plan: sketched({
      script: [[use(10, 1000, 10)], [use(300, 200, 2)]],
      faults: [cutOff(0, [D, E], 1500), cutOff(1, [A, B], 1500), jumpOfC],
    }),
    shows: [faults(3), hasVotesOf(0, A, B, C), hasVotesOf(1, C, D, E), getsWhileHeld(1, 0)],
    expected: { quorlock: "overlap", "redlock-5": "overlap" },
  },
  "clock-jump-on-c-excluded": {
    title: "The same, where clients exclude masters by their clocks",
    story:
      "The clock of C jumps 20 s forward, and C's key is gone. Client 1 connects only then, and cannot have seen it: of " +
      "the three clocks that it reads with its first votes, the one of C agrees with no other. Two votes are no " +
      "majority, and it waits until it reaches the others.",
    source: kleppmann('"Breaking Redlock with bad timings"'),
    plan: sketched({
      script: [[use(10, 1000, 10)], [use(300, 200, 2)]],
      faults: [cutOff(0, [D, E], 1500), cutOff(1, [A, B], 1500), cutOff(1, [C, D, E], 250, 0), jumpOfC],
      areClocksSynced: true,
      settings: { clockWatch: { exclude: true } },
    }),
    shows: [
      faults(4),
      hasVotesOf(0, A, B, C),
      onlyWith("quorlock", getsAfter(1, 0)),
      onlyWith("redlock-5", getsWhileHeld(1, 0)),
    ],
    expected: { quorlock: "safe", "redlock-5": "overlap" },
    with: "masters excluded by their clocks",
  },
  "clock-jump-under-all-five": {
    title: "The clock of one of five voters jumps",
    story:
      "All five masters have voted for client 0. The clock of C jumps 20 s forward, and C votes for client 1 while " +
      "client 0 holds the lock. One vote is no majority: client 1 waits.",
    source: antirez,
    plan: sketched({
      script: [[use(10, 1000, 10)], [use(300, 200, 2)]],
      faults: [jumpOfC],
    }),
    shows: [faults(1), hasVotesOf(0, A, B, C, D, E), winsAVoteWhileHeld(1, C, 0), getsAfter(1, 0)],
    expected: { quorlock: "safe", "redlock-5": "safe" },
  },
  "three-masters-five-percent-fast": {
    title: "A majority's clocks run faster than the drift factor allows",
    story:
      "The clocks of A, B and C gain 5 %, and the client allows for 1 %. Their keys are gone 95 ms before two seconds " +
      "are over, while client 0 counts on them. Client 1 takes them.",
    source: redisDocumentation('"Is the algorithm asynchronous?"'),
    plan: sketched({ ...changeOfHolder(1930), masterRates: [50_000, 50_000, 50_000] }),
    shows: [getsWhileHeld(1, 0)],
    expected: { quorlock: "overlap", "redlock-5": "overlap" },
  },
  "three-masters-half-a-percent-fast": {
    title: "A majority's clocks run fast, within the drift factor",
    story:
      "The clocks of A, B and C gain half a percent, and the client allows for one. Client 0 holds for as long as it " +
      "may and leaves the lock in time; client 1, asking all the while, has it a moment later.",
    source: redisDocumentation('"Is the algorithm asynchronous?"'),
    plan: sketched({ ...changeOfHolder(1700), masterRates: [5000, 5000, 5000] }),
    shows: [getsBetween(1, 1995, 2040), onlyWith("quorlock", getsAfter(1, 0))],
    expected: { quorlock: "safe", "redlock-5": "safe" },
  },
  "slow-client-clock": {
    title: "The holder's clock runs slower than the drift factor allows",
    story:
      "The clocks of client 0 lose 5 %, and it allows for 1 %. Two seconds of the masters are over before its own " +
      "are, and client 1 takes the lock.",
    source: redisDocumentation('"Is the algorithm asynchronous?"'),
    plan: sketched({ ...changeOfHolder(2040), clientRates: [-50_000] }),
    shows: [getsWhileHeld(1, 0)],
    expected: { quorlock: "overlap", "redlock-5": "overlap" },
  },
  "client-wall-clock-steps-back": {
    title: "The holder's wall clock is set back",
    story:
      "The wall clock of client 0 is set back by 5 s while it holds the lock. A client that relies on `Date.now()` then " +
      "uses the lock for 5 s longer than the masters keep it. Client 1 takes it when the masters' time is over.",
    source: antirez,
    plan: sketched({
      script: [[use(10, 3500, 70)], [use(2300, 300, 3)]],
      faults: [onceHeld(100, { kind: "step", clients: [0], masters: [], by: -5000 })],
    }),
    shows: [
      faults(1),
      struckWhileHolding(0),
      onlyWith("quorlock", getsAfter(1, 0)),
      onlyWith("redlock-5", getsWhileHeld(1, 0)),
    ],
    expected: { quorlock: "safe", "redlock-5": "overlap" },
  },
};
