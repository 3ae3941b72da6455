import { type Connection, guardedLeaveScript, leaveScript, releaseScript } from "@quorlock/redlock/internal";
import { callerMutants, rareCallerMutants } from "./caller-mutants.ts";
import { fencingMutants } from "./fencing-mutants.ts";
import { rareGuardMutants } from "./guard-mutants.ts";
import type { Edits, MutantRows } from "./mutant.ts";

/** The deadline is not looked at when an answer comes. */
const revival: Edits = { "protocol/lease.ts renew 4.1": "" };

/** Nothing ends at the deadline. */
const noEnd: Edits = { "protocol/lease.ts onDue body": "{}" };

/** Faults in the queue: PROTOCOL 2.13, 2.14, 7. */
const queueMutants: MutantRows = {
  "a lease that is handed off as it is counts from the hand-off": {
    breaks: ["7.16"],
    from: 20,
    edits: {
      "waiting/line.ts successorFor token": "successor.votes.deadlines.fill(context.clock.now() + ttl);",
    },
  },
  "a waiter uses one token in all its rounds": {
    breaks: ["2.13"],
    edits: { "protocol/ballot.ts ask 2.13": "if (entry) this.rounds = 1;" },
  },
  "the last to come is the first": {
    breaks: ["7.3"],
    from: 19,
    lua: {
      'local first = call("ZRANGE", queue, 0, 0)[1]': 'local first = call("ZRANGE", queue, -1, -1)[1]',
    },
  },
  "a grant counts in whichever round it is heard": {
    breaks: ["2.14"],
    edits: { "protocol/ballot.ts hear 2.14 condition": "!claim" },
  },
  "a vote that was given up counts again": {
    breaks: ["7.9"],
    from: 13,
    edits: {
      "protocol/ballot.ts ask unheard value": (none) => `((this as any).votes ??= ${none})`,
    },
  },
  "the commands of a waiter touch the votes of all its rounds": {
    breaks: ["2.13"],
    from: 20,
    lua: { " and tonumber(earlier) < tonumber(round)": "" },
  },
  "a key is granted to a waiter that does not listen": {
    breaks: ["7.4"],
    from: 29,
    lua: {
      "if not round or counts and not counts.err and counts[2] == 0 then": "if not round then",
      'if told ~= 0 and how == "g" then return end': 'if how == "g" then return end',
    },
  },
  "a grant is pushed before its key is set": {
    breaks: ["7.5"],
    lua: {
      "set(key, token, ttl)\nif counter then": "if counter then",
      '.. (counter and exactly(counter) or "-") .. " " .. next)': (push) => `${push}\nset(key, token, ttl)`,
    },
  },
  "the deadline of a grant counts from its receipt": {
    breaks: ["7.7"],
    edits: { "protocol/ballot.ts hear #count argument": "this.#context.clock.now()" },
  },
  "a waiter that few masters answer stays in the queues": {
    breaks: ["7.12"],
    from: 21,
    edits: { "waiting/wait.ts 7.12 condition": "false" },
  },
  "the next round waits for masters that hang": {
    breaks: ["7.11"],
    edits: {
      "waiting/wait.ts onAnswer #unlessItThrows": "void 0",
      "waiting/wait.ts onClosed #contention": "this.#onHeard(answers);",
    },
  },
  "no heartbeat follows an answered round": {
    breaks: ["7.11"],
    edits: { "waiting/wait.ts #onHeard #scheduleNextRound": "void 0" },
  },
  "a wake starts no round": {
    breaks: ["7.11", "7.13"],
    edits: { "waiting/wait.ts onWake #askForRest": "void 0" },
  },
  "a waiter stays in the queue after its grant": {
    breaks: ["7.4"],
    from: 17,
    lua: {
      'if type(told) == "number" then forget(queue, waiter)':
        'if told == 0 then forget(queue, waiter) elseif type(told) == "number" then',
      "forget(queues[index], waiter)\n": "",
    },
  },
};

const drawnBy = new WeakMap<object, Uint8Array[]>();

/** To be found where a process has several Redlocks. */
export const sharedTokensMutant: MutantRows = {
  "the Redlocks of a process draw the same tokens": {
    breaks: ["2.1"],
    runtime(runtime) {
      const all = drawnBy.get(runtime) ?? [];
      drawnBy.set(runtime, all);
      let drawn = 0;
      const next = (count: number): Uint8Array => (all[drawn++] ??= runtime.randomBytes(count));
      return changed(runtime, { randomBytes: next });
    },
  },
};

/** Found where the masters are switched one after the other: what several have forgotten at one time is told (PROTOCOL 4.7). */
export const leftDatabaseMutant: MutantRows = {
  "a lease is repaired in another database than its votes are in": {
    breaks: ["2.15"],
    edits: {
      "protocol/placement.ts #leave whyLeft": "void why;",
      "protocol/placement.ts #leave lose": "undefined",
    },
  },
};

/**
 * Faults in locks that are moved to another database, handed to another client, or renewed (PROTOCOL 2.12, 2.15,
 * 5.6).
 */
const holdMutants: MutantRows = {
  "a predecessor takes back a grant to the token that it gave away": {
    breaks: ["5.6", "7.18"],
    from: 112,
    edits: { "waiting/line.ts 5.6 condition": "false" },
  },
  "a lease is renewed by setting its key again": {
    breaks: ["7.5"],
    lua: {
      'call("PEXPIRE", KEYS[index], lives)': 'call("SET", KEYS[index], token, "PX", lives)',
      'call("PEXPIRE", KEYS[1], ttl) == 0': "true",
    },
  },
};

/** Each must be found by the harness; one that survives is a failing test. */
export const mutants: MutantRows = {
  ...queueMutants,
  ...holdMutants,
  ...fencingMutants,
  ...callerMutants,
  "half of the masters are a quorum": {
    breaks: ["2.3"],
    from: 38,
    edits: { "protocol/quorum.ts quorumOf value": "Math.ceil(members / 2)" },
  },
  "a minority is a quorum": {
    breaks: ["2.3"],
    edits: { "protocol/quorum.ts quorumOf value": "Math.max(1, Math.floor(members / 2))" },
  },
  "no drift is taken off": {
    breaks: ["1.1", "3.1"],
    edits: { "time/lease-clock.ts 3.1 value": "sentAt + ttl" },
  },
  "the time is read when the reply comes, not before the send": {
    breaks: ["2.4"],
    edits: { "protocol/ballot.ts #heard #count argument": "this.#context.clock.now()" },
  },
  "an extension counts from its reply": {
    breaks: ["3.3"],
    edits: { "protocol/extend.ts renew argument": (sentAt) => `${sentAt} + round.timeout` },
  },
  "a lease lasts as long as its longest master": {
    breaks: ["3.2"],
    edits: { "time/lease-clock.ts 3.2 condition": "reached >= 1 && candidate > latest" },
  },
  "a client uses one token for ever": {
    breaks: ["2.1", "6.2"],
    edits: { "protocol/ballot.ts id 2.1": "return (this.#context as any).t ??= this.#context.tokens.next()" },
  },
  "a holder is told at the deadline, not before it": {
    breaks: ["1.11"],
    edits: { "protocol/lease.ts noticeOf value": "deadline" },
  },
  "the deadline has no timer": {
    breaks: ["1.11", "3.6"],
    from: 14,
    edits: { "protocol/lease.ts #watch #timerHandle value": "timers.add(due, { onDue: () => {} })" },
  },
  "a silent master is waited for": {
    breaks: ["1.10", "2.2"],
    from: 13,
    edits: { "protocol/round.ts #setTimer #expire": "void due" },
  },
  "only the wall clock counts": {
    breaks: ["3.4"],
    from: 15,
    runtime: (runtime) => changed(runtime, { monotonic: () => 0 }),
  },
  "only the monotonic clock counts": {
    breaks: ["3.4"],
    from: 26,
    runtime: (runtime) => changed(runtime, { wall: () => 0 }),
  },
  "a vote overwrites the token that is there": {
    breaks: ["1.9", "2.2"],
    connections: each(
      (send) => (command, args) =>
        send(command, command === "SET" ? args.filter((arg) => arg !== "NX") : args),
    ),
  },
  "a release deletes without comparing": {
    breaks: ["5.1"],
    connections: each(
      (send) => (command, args) => (isRelease(args) ? send("DEL", keysOf(args)) : send(command, args)),
    ),
  },
  "the key is set first and its expiry afterwards": {
    breaks: ["6.1", "13.1"],
    connections: each((send) => async (command, args) => {
      if (command !== "SET") return send(command, args);
      const [key, token, , , ttl] = args;
      const reply = await send("SET", [key!, token!, "NX"]);
      if (reply === "OK") await send("PEXPIRE", [key!, ttl!]);
      return reply;
    }),
  },
  "a release looks first and deletes afterwards": {
    breaks: ["5.1"],
    connections: each((send) => async (command, args) => {
      if (!isRelease(args)) return send(command, args);
      let deleted = 0;
      for (const key of keysOf(args)) {
        const owner = (await send("GET", [key])) as string;
        if (args.includes(owner)) deleted += (await send("DEL", [key])) as number;
      }
      return deleted;
    }),
  },
  "the masters are asked one after the other": { breaks: ["2.2"], connections: inSequence },
  "a failed attempt is not rolled back": {
    breaks: ["2.6"],
    edits: { "protocol/vote.ts plainVote rolledBack value": "Promise.resolve()" },
  },
  "only masters that said yes are rolled back": {
    breaks: ["2.6"],
    edits: { "protocol/vote.ts mayHold body": '{ return answer?.is === "yes"; }' },
  },
  "late votes make a lock": {
    breaks: ["2.5"],
    from: 178,
    edits: { "protocol/vote.ts 2.5 value": "!won" },
  },
  "an extension that is answered after the deadline revives the lease": {
    breaks: ["4.1"],
    from: 14,
    edits: { ...revival, ...noEnd },
  },
  "an expired lease is repaired": {
    breaks: ["4.2"],
    edits: { ...revival, ...noEnd, "protocol/lease.ts remaining 3.6": "" },
  },
  "an extension may shorten a key": {
    breaks: ["2.11"],
    lua: {
      "isShort = left ~= -1 and left < least": "isShort = left ~= -1",
      "if left ~= -1 and left < tonumber(ttl) then": "if left ~= -1 then",
    },
  },
  "a key that holds the token already is not renewed, and still counts": {
    breaks: ["2.12"],
    lua: {
      'call("PEXPIRE", KEYS[index], lives)': "",
      'if call("PEXPIRE", KEYS[1], ttl) == 0 then call("SET", KEYS[1], token, "PX", ttl) end': "",
    },
  },
  "a lease ends when its release is answered, not before it is sent": {
    breaks: ["5.3"],
    edits: {
      "protocol/release.ts 5.3": "",
      "protocol/release.ts releasing": (send) =>
        `${send} if (!lease.hasEnded) void lease.releasing.then(() => lease.end());`,
    },
  },
  "a reply counts for the wrong question of a batch": {
    breaks: ["12.3"],
    edits: { "redis/script-wire.ts 12.3 ownReply value": "replies[posted.length - 1 - index]" },
  },
  "a master is sent what another one was asked": {
    breaks: ["12.1"],
    edits: {
      "redis/turn.ts isEncodingOf": "this.#latest.posted.length === posted.length",
    },
  },
  "an abandoned vote is sent behind its rollback": {
    breaks: ["2.6", "12.2", "12.8"],
    from: 13,
    edits: {
      "redis/batch.ts isAbandoned value": "false && claim",
      "redis/window.ts post 2.6": (statement) =>
        `if (posted.purpose === "release") this.#new.unshift(posted); else ${statement}`,
    },
  },
  "one deadline for two ttls": {
    breaks: ["12.4"],
    from: 80,
    edits: { "redis/commands.ts 12.4": "true" },
  },
  "a late reply of one round counts in the next": {
    breaks: ["2.14"],
    from: 82,
    edits: { "protocol/ballot.ts #heard 2.14": (it) => it.replace(/claim( === .*#claim)?/g, "this.#claim") },
  },
};

/** Too rare for the budget of the others: the seed bank keeps a run that shows it. */
export const rareMutants: MutantRows = {
  ...rareCallerMutants,
  ...rareGuardMutants,
  "a late vote counts for the longest ttl that its lease has asked for": {
    breaks: ["3.3"],
    edits: { "protocol/ballot.ts #count renew": "this.lease.renew(sentAt, index, votes.ttl)" },
  },
  "a call whose time is over waits in the queue": {
    breaks: ["1.10"],
    edits: { "waiting/retry-budget.ts constructor 1.10 end statement": "void 0;" },
  },
  "a late queue entry grants the key of a detached lease": {
    breaks: ["5.8"],
    lua: { "if isHeld then return claimOnly(false) end": "" },
  },
  "a refused waiter keeps what it was given before": {
    breaks: ["7.8"],
    lua: {
      "if not isTaken[index] then give(KEYS[index], token) end": "",
    },
  },
  "two milliseconds of the wall clock are forgiven after each suspension": {
    breaks: ["3.5"],
    edits: { "time/lease-clock.ts now #elapsed value": "Math.max(byMonotonic, byWall - 2)" },
  },
  "a pause between reading the two clocks is not seen": {
    breaks: ["3.5"],
    edits: { "time/lease-clock.ts now monotonic value": "before" },
  },
};

type Send = Connection["send"];
type Args = Parameters<Send>[1];

/** Every connection, with another way to send. */
function each(change: (send: Send) => Send): (connections: readonly Connection[]) => readonly Connection[] {
  return (connections) =>
    connections.map((connection) => changed(connection, { send: change(connection.send.bind(connection)) }));
}

/** Each master's commands wait for the answer of the master before. */
function inSequence(connections: readonly Connection[]): readonly Connection[] {
  let last: Promise<unknown> = Promise.resolve();
  return connections.map((connection) =>
    changed(connection, {
      send(command, args) {
        const reply = last.then(() => connection.send(command, args));
        last = reply.catch(() => {});
        return reply;
      },
    }),
  );
}

/** `original` with other properties in the place of some. */
function changed<Original extends object>(original: Original, changes: Partial<Original>): Original {
  return new Proxy(original, {
    get(target, key) {
      const value: unknown = Reflect.get(key in changes ? changes : target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function isRelease([script]: Args): boolean {
  return [releaseScript, leaveScript, guardedLeaveScript].some(({ sha1 }) => script === sha1);
}

function keysOf([, count, ...rest]: Args): Args {
  return rest.slice(0, Number(count));
}
