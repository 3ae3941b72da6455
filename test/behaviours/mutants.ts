import type { Connection } from "@quorlock/redlock/internal";
import { everyMutant, type Mutant } from "@quorlock/simulation/mutants";
import { changed } from "./looking.ts";

/** The wall clock of the client that was made last. */
let wall = (): number => 0;

/** Faults in leases, their extensions and their ends. */
const leaseMutants: readonly Mutant[] = [
  {
    name: "a lease answers by the time at which a clock was read last",
    breaks: ["3.6"],
    edits: { "protocol/lease.ts remaining left value": "this.#deadline - this.context.clock.latest" },
  },
  {
    name: "a lease is held for certain though no quorum has confirmed it",
    breaks: ["4.3"],
    edits: { "protocol/extend.ts confirm isConfirmed value": "true" },
  },
  {
    name: "a renewal is due after half of the ttl",
    breaks: ["4.4"],
    edits: { "holding/renewal.ts renewalFraction value": "1 / 2" },
  },
  {
    name: "verify sets missing keys again",
    breaks: ["4.5"],
    edits: { "protocol/extend.ts verify repair value": "true" },
  },
  {
    name: "an extension tries again for longer than the lease had left",
    breaks: ["4.6"],
    edits: {
      "protocol/extend.ts attemptUntilConfirmed until value": "clock.now() + Math.min(time, 2 * lease.ttl)",
    },
  },
  {
    name: "a release is sent each time that it is asked for",
    breaks: ["5.2"],
    edits: { "protocol/release.ts 5.3 condition": "true" },
  },
  {
    name: "the lease that continues another one has a token of its own",
    breaks: ["5.4"],
    edits: {
      "waiting/line.ts successorFor token": (next) => next.replace("votes", "successor.votes"),
    },
  },
  {
    name: "a lease that was detached is released all the same",
    breaks: ["5.5"],
    edits: { "protocol/release.ts release isDetached": "false" },
  },
  {
    name: "detaching does not wait for what is on its way",
    breaks: ["5.7"],
    edits: { "holding/detach.ts done": "round.ask()" },
  },
  {
    name: "a detached lease stays in its process",
    breaks: ["5.9"],
    edits: { "waiting/line.ts 5.9 condition": 'lease.state !== "lost" && !successor' },
  },
  {
    name: "a resumed lock sets missing keys again",
    breaks: ["5.10"],
    edits: { "protocol/lease.ts constructor mayRepair value": "true" },
  },
  {
    name: "a drain waits for nobody",
    breaks: ["5.11"],
    edits: { "redlock.ts #quitAfter #drain statement": ";" },
  },
  {
    name: "a vote names the time of its end, by the clock of its client",
    breaks: ["6.3"],
    runtime: (runtime) => {
      wall = () => runtime.wall();
      return runtime;
    },
    connections: (connections) => connections.map(namingTheEnd),
  },
  {
    name: "nested calls of one lock do not take turns",
    breaks: ["10.6"],
    edits: { "holding/reentrant-lock.ts #beginTurns isNext value": "true" },
  },
  {
    name: "a listener runs wherever its event came from",
    breaks: ["10.7"],
    edits: { "time/async-context.ts outside value": "callback()" },
  },
];

/** Faults in the queues, and in what a master answers. */
const queueMutants: readonly Mutant[] = [
  {
    name: "a waiter does not count a key that it has already",
    breaks: ["2.7"],
    lua: {
      "isTaken[index] = owner and not isMine(owner, token) and owner": "isTaken[index] = owner",
      "if not refusal and not isMine(owner, token) then": "if not refusal then",
    },
  },
  {
    name: "a refusal shows the whole token of the owner",
    breaks: ["2.17"],
    lua: { "local shown = math.min(8, math.floor(length / 2))": "local shown = length" },
  },
  {
    name: "a waiter votes, and makes no queue entry",
    breaks: ["7.1"],
    edits: { "protocol/ballot.ts ask verb value": '"vote"' },
  },
  {
    name: "a release grants the first waiter all that it waits for",
    breaks: ["7.6"],
    lua: {
      'local place = ":" .. string.sub(waiter, 1, 20)\n': (place) => `${place}
        local wanted = ""
        for index = first, last do wanted = wanted .. KEYS[index] .. " " end
        call("SET", "quorlock:wanted" .. place, wanted, "PX", entryTtl)
      `,
      'if isTold and how == "w" then redis.pcall("PUBLISH", inbox, "wake " .. token) end': (wake) => `
        local wanted = call("GET", "quorlock:wanted:" .. string.sub(waiter, 1, 20)) or ""
        for other in string.gmatch(wanted, "%S+") do
          if not ownerFor(other, token) then set(other, token, ttl) end
        end
        ${wake}
      `,
    },
  },
  {
    name: "a waiter that gives up stays in the queues",
    breaks: ["7.10"],
    edits: { "waiting/wait.ts giveUp #leaveQueues": "this.#line.onFinished(this, undefined, error)" },
  },
  {
    name: "a grant stores no fencing token",
    breaks: ["8.5"],
    lua: {
      "if counter then raise({lockOf(key)}, math.max(counter, tonumber(proposal))) end": "",
    },
  },
  {
    name: "a fencing token that is near the numbers that are not exact is stored",
    breaks: ["8.6"],
    lua: { 'return redis.error_reply("ERR the fencing token is too large")': "" },
  },
  {
    name: "the floor of the fencing counters expires as they do",
    breaks: ["8.7"],
    lua: {
      'call("SET", "quorlock:floor", exactly(counter + 1000000))':
        'call("SET", "quorlock:floor", exactly(counter + 1000000), "PX", counterTtl)',
    },
  },
];

/** Faults in the restart guard and in the list of masters. */
const masterMutants: readonly Mutant[] = [
  {
    name: "any two lists of masters go together",
    breaks: ["1.13"],
    edits: { "owners/membership.ts quorumsIntersect value": "true" },
  },
  {
    name: "a marker counts in whichever database it stands",
    breaks: ["9.4"],
    lua: {
      "local isKnown = was and place == database and": "local isKnown = was and",
      "longest == maxTtl and place == database and": "longest == maxTtl and",
    },
  },
  {
    name: "a master is declared new that was not asked in this memory",
    breaks: ["9.9"],
    lua: {
      'elseif call("GET", "quorlock:guard:new:" .. epoch) then mark("0", 0)': 'elseif true then mark("0", 0)',
    },
  },
  {
    name: "a master whose clock has stepped is left out by one client alone",
    breaks: ["9.11"],
    edits: { "safeguards/master-guard.ts distrust body": "{}" },
  },
  {
    name: "a durable master is in quarantine after each restart",
    breaks: ["9.12"],
    lua: { 'if durable == "1" and not isSame then return true end': "" },
  },
  {
    name: "a key of the guard does not begin with quorlock:",
    breaks: ["13.2"],
    lua: {
      'if not was then call("SET", "quorlock:guard:new:" .. epoch':
        'if not was then call("SET", "guard:new:" .. epoch',
      'elseif call("GET", "quorlock:guard:new:" .. epoch)': 'elseif call("GET", "guard:new:" .. epoch)',
    },
  },
];

/** Faults in batches, in the send window and in admission. */
const loadMutants: readonly Mutant[] = [
  {
    name: "an error of one question is that of its whole batch",
    breaks: ["12.5"],
    lua: {
      "local done, reply = pcall(run, kind, last, number, ticket, entryTtl, proposal)":
        "local done, reply = true, run(kind, last, number, ticket, entryTtl, proposal)",
    },
  },
  {
    name: "an extension waits for room among the requests",
    breaks: ["12.7"],
    edits: { "redis/backlog.ts push #keeps condition": "false" },
  },
  {
    name: "the time in which a process was blocked is that of its masters",
    breaks: ["12.9"],
    edits: { "protocol/round.ts #expire body": "{ this.#giveUp(this.#asking.clock.now() - due); }" },
  },
  {
    name: "as many ask at a time however long their rounds take",
    breaks: ["12.10"],
    edits: { "load/admission.ts #cut body": "{ void elapsed; }" },
  },
  {
    name: "locks are asked for however late extensions are",
    breaks: ["12.11"],
    edits: { "load/admission.ts #isBehind body": "{ return false; }" },
  },
];

/** Faults that a case of test/behaviours shows, and no random run: nothing there answers twice, or counts the milliseconds of a notice. */
export const behaviourMutants: readonly Mutant[] = [
  {
    name: "the caller of a release waits while it goes on behind a backlog",
    breaks: ["1.10"],
    edits: { "protocol/round.ts #giveUp 1.10": "" },
  },
  ...leaseMutants,
  ...queueMutants,
  ...masterMutants,
  ...loadMutants,
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
    edits: { "protocol/ballot.ts farAhead value": "Number.POSITIVE_INFINITY" },
  },
  {
    name: "a key that is set again in quarantine counts",
    breaks: ["9.7"],
    edits: { "protocol/votes.ts isKeptBy body": "{ return true; }" },
  },
  {
    name: "a number that is not exact is one",
    breaks: ["13.3"],
    edits: { "redis/reply-numbers.ts digitsIn isSafeInteger": "true" },
  },
];

/** All faults that the cases are played against. */
export const mutants: readonly Mutant[] = [...behaviourMutants, ...everyMutant];

/** Sends a SET with the time of its end in place of its ttl. */
function namingTheEnd(connection: Connection): Connection {
  return changed(connection, {
    deliver: undefined,
    send: (command, args) => {
      const [key, token, condition, , ttl] = args;
      if (command !== "SET") return connection.send(command, args);
      return connection.send(command, [key!, token!, condition!, "PXAT", Math.ceil(wall() + Number(ttl))]);
    },
  });
}
