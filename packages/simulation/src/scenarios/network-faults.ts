import type { Fault } from "../plan/fault.ts";
import { faults, gets, getsBetween, lateVote, onlyWith, splitVote, votesAfter } from "./evidence.ts";
import type { Scenarios } from "./scenario.ts";
import { A, B, C, D, E, sketched, use } from "./sketch.ts";
import { behaviourOf, redisDocumentation } from "./sources.ts";

/** The reply of `master` to the first vote of client 0 is lost. */
function lostReplyOf(master: number): Fault {
  return {
    on: "vote applied",
    occurrence: 1,
    client: 0,
    master,
    kind: "reset",
    clients: [0],
    masters: [master],
    inFlight: "lost",
  };
}

/** Requests of client 0 to these masters are held back. */
function heldUp(masters: readonly number[], duration: number): Fault {
  return { at: 8, kind: "cut", clients: [0], masters, direction: "requests", duration, ending: "heal" };
}

/** A client is far from these masters while the votes are cast. */
function farFrom(client: number, masters: readonly number[]): Fault {
  return { at: 8, kind: "slow", clients: [client], masters, factor: 15, duration: 60 };
}

/** Messages that are late or lost, and clients that come at once. */
export const networkFaults: Scenarios = {
  "lost-replies": {
    title: "Votes are given, and their replies are lost",
    story:
      "A, B and C vote for client 0, and each connection breaks before the answer is back. Client 0 must neither " +
      "count these votes nor stand in its own way; client 1 comes later.",
    source: {
      text: "ioredis, `autoResendUnfulfilledCommands`",
      url: "https://github.com/redis/ioredis#auto-reconnect",
    },
    plan: sketched({
      script: [[use(10, 500, 5)], [use(4000, 500, 5)]],
      settings: { retryCount: 100 },
      faults: [lostReplyOf(A), lostReplyOf(B), lostReplyOf(C)],
    }),
    shows: [faults(3), gets(0), gets(1)],
    expected: { quorlock: "safe", "redlock-5": "expired grant" },
  },
  "late-set": {
    title: "Requests for votes arrive after their client has given up",
    story:
      "The requests of client 0 to C, D and E are held up on the way. It gives up after one attempt and takes back " +
      "what it may have got. C hears of it while client 1 holds the lock, and refuses. D and E hear of it when the " +
      "lock is free, and give votes to a client that has long gone: the rollbacks that delete them are right behind.",
    source: redisDocumentation('"Retry on failure"'),
    plan: sketched({
      script: [[use(10, 300, 3, "try")], [use(300, 400, 4), use(1100, 500, 5)]],
      faults: [heldUp([C], 492), heldUp([D, E], 992)],
    }),
    shows: [
      faults(2),
      lateVote(0, 1000),
      getsBetween(1, 300, 400),
      onlyWith("quorlock", votesAfter(1, 1000, A, B, C, D, E)),
    ],
    expected: { quorlock: "safe", "redlock-5": "safe" },
  },
  "split-vote": {
    title: "Three clients ask at once, and none has a majority",
    story:
      "A and B are near to client 0, C and D to client 1, E to client 2. All three ask at the same time, and each has " +
      "the votes of those that are near. One after the other must still come to hold the lock.",
    source: redisDocumentation('"Retry on failure"'),
    plan: sketched({
      script: [[use(10, 100, 2)], [use(10, 100, 2)], [use(10, 100, 2)]],
      faults: [farFrom(0, [C, D, E]), farFrom(1, [A, B, E]), farFrom(2, [A, B, C, D])],
    }),
    shows: [faults(3), splitVote(5), ...[0, 1, 2].map((client) => onlyWith("quorlock", gets(client)))],
    expected: { quorlock: "safe", "redlock-5": "expired grant" },
  },
  "tie-of-four": {
    title: "Two clients, two votes each, of four masters",
    story:
      "A and B vote for client 0, C and D for client 1. Neither a yes nor a no has a majority, and still both calls " +
      "have to come to an end.",
    source: behaviourOf("2.3", "Half of the masters are no majority"),
    plan: sketched({
      masters: 4,
      script: [[use(10, 100, 2)], [use(10, 100, 2)]],
      faults: [farFrom(0, [C, D]), farFrom(1, [A, B])],
    }),
    shows: [faults(2), splitVote(4)],
    expected: { quorlock: "safe", "redlock-5": "hangs" },
  },
};
