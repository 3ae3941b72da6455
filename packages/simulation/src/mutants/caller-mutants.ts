import type { MutantRows } from "./mutant.ts";

/** Faults in what callers of one process share: PROTOCOL 1.10, 7.2, 7.15. */
export const callerMutants: MutantRows = {
  "a lease is handed on to all who wait in its process": {
    breaks: ["7.15"],
    from: 69,
    edits: { "waiting/line.ts onFinished #bound value": "Number.POSITIVE_INFINITY" },
  },
  "a lease that is not fresh is released before the next caller enters the queues": {
    breaks: ["7.17"],
    from: 30,
    edits: {
      "waiting/line.ts #give body": (body) =>
        body.replace("this.#clearLease(lease)", "void Promise.resolve().then(() => this.#clearLease(lease))"),
    },
  },
  "the end of using waits for the nodeTimeout of the constructor": {
    breaks: ["1.10"],
    from: 516,
    edits: { "holding/lock.ts releaseWithin value": "lock.#owner.release(lock)" },
  },
  "the next waiter is not enqueued while the first backs off": {
    breaks: ["7.15"],
    from: 18,
    edits: {
      "waiting/line.ts #enter body": (body) =>
        body.replace("waiter)) continue;", "waiter)) if (hasEntered) return; else continue;"),
    },
  },
  "a call that demands more than a lease has keeps its place before others": {
    from: 19,
    breaks: ["2.5"],
    edits: { "waiting/wait.ts #backOffFromTooLate condition": "false" },
  },
  "the ticket is drawn when the call begins to wait": {
    breaks: ["7.2"],
    from: 77,
    edits: {
      "waiting/acquire.ts waitInQueues wait": (call) =>
        call.replace(/, call.calledAt\)$/, ", Math.floor(context.runtime.monotonic() * 1000))"),
    },
  },
};

/** Found where calls demand most of a lease, and waits end between two heartbeats. */
export const lateGrantMutant: MutantRows = {
  "a waiter that is handed votes too late for it makes no other round": {
    breaks: ["2.5"],
    edits: { "waiting/wait.ts onGrant hasWaited value": "false" },
  },
};

/** Found by an error that nothing catches: only a thread of a pool survives that. */
export const throwingMutant: MutantRows = {
  "a backoff that throws ends the process": {
    breaks: ["7.15"],
    edits: { "waiting/wait.ts #unlessItThrows body": "{ step(); }" },
  },
};

/** Too rare for the budget of the others: the seed bank keeps a run that shows it. */
export const rareCallerMutants: MutantRows = {
  "a later call keeps the smaller ticket of another reading": {
    breaks: ["7.2"],
    edits: {
      "waiting/line.ts #keepOrder body": `{
        for (let index = Math.max(1, first); index < this.#waiters.length; index += 1) {
          const before = this.#waiters[index - 1]!.ticket;
          if (this.#waiters[index]!.ticket > before) return;
          this.#waiters[index]!.ticket = before + 1;
        }
      }`,
    },
  },
  "the time that the masters tell is behind tickets of others": {
    breaks: ["7.2"],
    edits: {
      "waiting/ticket-clock.ts ticketOf offset value":
        "this.#reading?.ofMonotonic ?? Math.max(this.#wallOffset, this.#floor.offset)",
      "waiting/place.ts observe wasBehind value": (observed) => `${observed} && this.#clock.isAlone`,
    },
  },
  "a ticket that was named keeps the time of a fast clock ahead for ever": {
    breaks: ["7.2"],
    edits: { "waiting/ticket-clock.ts #lowerFloor body": "{}" },
  },
  "a waiter leaves the queues before the next caller of its process enters them": {
    breaks: ["7.15"],
    edits: {
      "waiting/wait.ts #backOff onAway": "undefined",
      "waiting/wait.ts #backOff #leaveQueues": (leave) => `${leave}, this.#line.onAway()`,
    },
  },
  "a ticket that is raised does not raise those behind it": {
    breaks: ["7.2"],
    edits: { "waiting/line.ts onRaised body": "{}" },
  },
};
