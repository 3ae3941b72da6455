import { faults, getsAfter, getsWhileHeld, onlyWith, struckWhileHolding, writesLast } from "./evidence.ts";
import type { Scenarios } from "./scenario.ts";
import { onceHeld, type Sketch, sketched, ttl, use } from "./sketch.ts";
import { antirez, kleppmann } from "./sources.ts";

const longPause = 1.5 * ttl;
const everyClientWaits = [[use(10, 200, 2)], [use(2500, 300, 3)]];

const stalledBeforeItsWrite: Sketch = {
  script: [[use(10, 100, 1)], [use(2500, 300, 1)]],
  faults: [{ on: "write", occurrence: 1, client: 0, kind: "stall", clients: "here", duration: longPause }],
};

/** Processes that stand still. */
export const pauses: Scenarios = {
  "pause-after-the-check": {
    title: "A pause between the look at the lock and the write",
    story:
      "Client 0 holds the lock, looks at it, and is paused for longer than its ttl before it writes. The lock runs " +
      "out, client 1 takes it and writes. Client 0 wakes up in the middle of its turn and writes too.",
    source: kleppmann('"Protecting a resource with a lock"'),
    plan: sketched(stalledBeforeItsWrite),
    shows: [faults(1), writesLast(0, 1)],
    expected: { quorlock: "stale write", "redlock-5": "stale write" },
    safeWith: "fencing tokens",
  },
  "pause-after-the-check-fenced": {
    title: "The same pause, with fencing tokens",
    story:
      "Client 0 is paused between its look at the lock and its write, as before. Its write comes after client 1's, and " +
      "with a smaller token: the resource turns it away.",
    source: kleppmann('"Making the lock safe with fencing"'),
    plan: sketched({ ...stalledBeforeItsWrite, settings: { fencing: true } }),
    shows: [faults(1), writesLast(0, 1)],
    expected: { quorlock: "safe", "redlock-5": "stale write" },
    with: "fencing tokens",
  },
  "pause-before-the-check": {
    title: "A pause before the look at the lock",
    story:
      "Client 0 holds the lock, has written once, and is paused for longer than its ttl. Client 1 takes the lock and " +
      "writes. Client 0 wakes up, looks at its lock before it writes again, and leaves it.",
    source: antirez,
    plan: sketched({
      script: everyClientWaits,
      faults: [onceHeld(50, { kind: "freeze", clients: [0], masters: [], duration: longPause })],
    }),
    shows: [faults(1), struckWhileHolding(0), writesLast(1, 0)],
    expected: { quorlock: "safe", "redlock-5": "safe" },
  },
  "pause-before-the-replies": {
    title: "A garbage collection while the votes are on their way back",
    story:
      "All masters have voted for client 0, which stands still until its keys have run out and client 1 holds the " +
      "lock. Then it reads five old yeses. The time that has passed since it asked is part of the count: what it " +
      "has won is nothing.",
    source: kleppmann('"Breaking Redlock with bad timings", and antirez\'s reply'),
    plan: sketched({
      script: [[use(10, 200, 2)], [use(2500, 1500, 10)]],
      faults: [
        {
          on: "vote applied",
          occurrence: 1,
          client: 0,
          kind: "freeze",
          clients: [0],
          masters: [],
          duration: longPause,
        },
      ],
    }),
    shows: [faults(1), onlyWith("quorlock", getsAfter(0, 1)), onlyWith("redlock-5", getsWhileHeld(0, 1))],
    expected: { quorlock: "safe", "redlock-5": "expired grant" },
  },
  "suspended-machine": {
    title: "A machine sleeps while it holds the lock",
    story:
      "The machine of client 0 is suspended for longer than the ttl, and its monotonic clock with it. Client 1 takes " +
      "the lock. Awake again, client 0 must not assume that no time has passed.",
    source: {
      text: "Linux, clock_gettime(2): CLOCK_MONOTONIC does not count time that the system is suspended",
    },
    plan: sketched({
      script: everyClientWaits,
      faults: [onceHeld(50, { kind: "suspend", clients: [0], duration: longPause })],
    }),
    shows: [faults(1), struckWhileHolding(0), writesLast(1, 0)],
    expected: { quorlock: "safe", "redlock-5": "safe" },
  },
};
