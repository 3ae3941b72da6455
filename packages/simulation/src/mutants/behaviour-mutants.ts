import type { Mutant } from "./mutant.ts";

/** Faults that a case of test/behaviours shows, and no random run: nothing there answers twice, or counts the milliseconds of a notice. */
export const behaviourMutants: readonly Mutant[] = [
  {
    name: "a holder is told at the deadline, not before it",
    breaks: ["1.11"],
    edits: { "protocol/lease.ts noticeOf value": "deadline" },
  },
  {
    name: "an answer for a place that no master has counts",
    breaks: ["2.14"],
    edits: { "protocol/round.ts answered 2.14 condition": "false" },
  },
  {
    name: "an answer that is given again counts for the next place",
    breaks: ["2.14"],
    edits: {
      "protocol/round.ts #accept body": (body) =>
        body
          .replace("this.answers[index] !== undefined", "false")
          .replace("this.answers[index] = answer", "this.answers[this.answers.indexOf(undefined)] = answer"),
    },
  },
  {
    name: "a second round of fencing counts whatever number its master had",
    breaks: ["8.3"],
    edits: { "protocol/fencing.ts isStored body": '{ return answer?.is === "yes"; }' },
  },
  {
    name: "a number that is far ahead is no reason to hear other masters",
    breaks: ["8.4"],
    edits: { "protocol/attempt.ts farAhead value": "Number.POSITIVE_INFINITY" },
  },
  {
    name: "a key that is set again in quarantine counts",
    breaks: ["9.7"],
    edits: { "protocol/lease.ts isKeptBy body": "{ return true; }" },
  },
  {
    name: "a number that is not exact is one",
    breaks: ["13.3"],
    edits: { "redis/reply-numbers.ts digitsIn isSafeInteger": "true" },
  },
];
