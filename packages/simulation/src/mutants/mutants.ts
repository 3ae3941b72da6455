import type { Runtime } from "@quorlock/redlock";
import { type Connection, guardedLeaveScript, leaveScript, releaseScript } from "@quorlock/redlock/internal";
import { roundOf } from "../master/twins/rules.ts";
import { fencingMutants } from "./fencing-mutants.ts";
import type { Edit, Mutant } from "./mutant.ts";

/** The deadline is not looked at when an answer comes. */
const revival: Edit = {
  file: "protocol/lease.ts",
  at: "renew 4.1",
  instead: "",
};

/** Nothing ends at the deadline by itself. */
const noEnd: Edit = {
  file: "protocol/lease.ts",
  at: "onDue body",
  instead: "{}",
};

/** Faults in the queue: PROTOCOL 2.13, 2.14, 7. */
const queueMutants: readonly Mutant[] = [
  {
    name: "a lease that is handed off as it is counts from the hand-off",
    edits: [
      {
        file: "waiting/local-hand-off.ts",
        at: "reuseLease successor deadlines",
        instead: "deadlines: nodes.map(() => context.clock.now() + ttl)",
      },
    ],
  },
  {
    name: "a waiter uses one token in all its rounds",
    edits: [{ file: "waiting/queue-entry.ts", at: "#enqueue 2.13", instead: "this.#roundCount = 1;" }],
  },
  {
    name: "a grant counts in whichever round it is heard",
    edits: [{ file: "waiting/queue-entry.ts", at: "onGrant 2.14 condition", instead: "!claim" }],
  },
  {
    name: "a vote that was given up counts again",
    edits: [
      {
        file: "waiting/queue-entry.ts",
        at: "#forgetVotes #deadlines",
        instead: (statement) => `if (this.#deadlines.length === 0) ${statement}`,
      },
    ],
  },
  { name: "the commands of a waiter touch the votes of all its rounds", rules: { isMine: isOfOneWaiter } },
  { name: "a key is granted to a waiter that does not listen", rules: { isHeard: () => true } },
  { name: "a grant is pushed before its key is set", rules: { pushesFirst: true } },
  {
    name: "the deadline of a grant counts from its receipt",
    edits: [{ file: "waiting/queue-entry.ts", at: "#onVote nodeDeadline argument", instead: "clock.now()" }],
  },
  {
    name: "a waiter that few masters answer stays in the queues",
    edits: [{ file: "waiting/queue-entry.ts", at: "7.12 condition", instead: "this.#isTooLate" }],
  },
  { name: "a waiter stays in the queue after its grant", rules: { grantedLeave: false } },
  { name: "a refused waiter keeps what it was given before", rules: { refusedYield: false } },
];

function isOfOneWaiter(owner: string | null, token: string): boolean {
  if (owner === token) return true;
  const [own, asked] = [owner === null ? undefined : roundOf(owner), roundOf(token)];
  return own !== undefined && own.waiter === asked?.waiter;
}

/**
 * Faults in locks that are moved to another database, handed to another client, or renewed (PROTOCOL 2.12, 2.15,
 * 5.6).
 */
const holdMutants: readonly Mutant[] = [
  {
    name: "a lease is repaired in another database than its votes are in",
    edits: [
      { file: "protocol/placement.ts", at: "Placement leave body", instead: "{ void [why, node, old]; }" },
      { file: "protocol/placement.ts", at: "#leave lose", instead: "undefined" },
    ],
  },
  {
    name: "a predecessor takes back a grant to the token that it gave away",
    edits: [{ file: "waiting/local-queue.ts", at: "5.6 condition", instead: "false" }],
  },
  { name: "a lease is renewed by setting its key anew", rules: { renewsBySet: true } },
];

/** Each must be found by the harness; one that survives is a failing test. */
export const mutants: readonly Mutant[] = [
  ...queueMutants,
  ...holdMutants,
  ...fencingMutants,
  {
    name: "half of the masters are a quorum",
    edits: [{ file: "protocol/quorum.ts", at: "quorumOf value", instead: "Math.ceil(members / 2)" }],
  },
  {
    name: "a minority is a quorum",
    edits: [
      { file: "protocol/quorum.ts", at: "quorumOf value", instead: "Math.max(1, Math.floor(members / 2))" },
    ],
  },
  {
    name: "no drift is taken off",
    edits: [{ file: "time/validity.ts", at: "3.1 value", instead: "sentAt + ttl" }],
  },
  {
    name: "the time is read when the reply comes, not before the send",
    edits: [{ file: "protocol/attempt.ts", at: "3.1 nodeDeadline argument", instead: "clock.now()" }],
  },
  {
    name: "an extension counts from its reply",
    edits: [
      {
        file: "protocol/extend.ts",
        at: "nodeDeadline argument",
        instead: (sentAt) => `${sentAt} + round.timeout`,
      },
    ],
  },
  {
    name: "a lease lasts as long as its longest master",
    edits: [{ file: "time/validity.ts", at: "3.2 condition", instead: "reached >= 1 && candidate > latest" }],
  },
  {
    name: "a client uses one token for ever",
    edits: [
      {
        file: "protocol/attempt.ts",
        at: "2.1 value",
        instead: "(runtime as any).onlyToken ??= firstToken(runtime)",
      },
    ],
  },
  {
    name: "the deadline has no timer",
    edits: [
      {
        file: "protocol/lease.ts",
        at: "#watch #timerHandle value",
        instead: "timers.add(due, { onDue: () => {} })",
      },
    ],
  },
  {
    name: "a silent master is waited for",
    edits: [{ file: "protocol/round.ts", at: "#setTimer #expire", instead: "void due" }],
  },
  { name: "only the wall clock counts", runtime: (runtime) => withClocks(runtime, { monotonic: () => 0 }) },
  { name: "only the monotonic clock counts", runtime: (runtime) => withClocks(runtime, { wall: () => 0 }) },
  {
    name: "a vote overwrites the token that is there",
    connections: each(
      (send) => (command, args) =>
        send(command, command === "SET" ? args.filter((arg) => arg !== "NX") : args),
    ),
  },
  {
    name: "a release deletes without comparing",
    connections: each(
      (send) => (command, args) => (isRelease(args) ? send("DEL", keysOf(args)) : send(command, args)),
    ),
  },
  {
    name: "the key is set first and its expiry afterwards",
    connections: each((send) => async (command, args) => {
      if (command !== "SET") return send(command, args);
      const [key, token, , , ttl] = args;
      const reply = await send("SET", [key!, token!, "NX"]);
      if (reply === "OK") await send("PEXPIRE", [key!, ttl!]);
      return reply;
    }),
  },
  {
    name: "a release looks first and deletes afterwards",
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
  { name: "the masters are asked one after the other", connections: inSequence },
  {
    name: "a failed attempt is not rolled back",
    edits: [{ file: "protocol/attempt.ts", at: "rolledBack value", instead: "Promise.resolve()" }],
  },
  {
    name: "only masters that said yes are rolled back",
    edits: [
      { file: "protocol/attempt.ts", at: "mayHold body", instead: '{ return answer?.vote === "yes"; }' },
    ],
  },
  {
    name: "late votes make a lock all the same",
    edits: [{ file: "protocol/attempt.ts", at: "2.5 condition", instead: "!won" }],
  },
  { name: "an extension that is answered after the deadline revives the lease", edits: [revival, noEnd] },
  {
    name: "an expired lease is repaired",
    edits: [revival, noEnd, { file: "protocol/lease.ts", at: "remaining 3.6", instead: "" }],
  },
  { name: "an extension may shorten a key", rules: { isShort: () => true } },
  {
    name: "a key that holds the token already is not renewed, and counts all the same",
    rules: { isSet: false },
  },
  {
    name: "a lease ends when its release is answered, not before it is sent",
    edits: [
      { file: "protocol/lease.ts", at: "5.3 #endAs", instead: "undefined" },
      {
        file: "protocol/lease.ts",
        at: "5.3 #releasing",
        instead: (send) =>
          `${send} if (!this.hasEnded) void this.#releasing.then(() => this.#endAs("released"));`,
      },
    ],
  },
  {
    name: "a reply counts for the wrong operation of a batch",
    edits: [
      {
        file: "redis/batch.ts",
        at: "12.3 ownReply value",
        instead: "replies[operations.length - 1 - index]",
      },
    ],
  },
  {
    name: "a master is sent what another one was asked",
    edits: [
      {
        file: "redis/commands.ts",
        at: "12.1 areEqual",
        instead: "latestEncoded.operations.length === operations.length",
      },
    ],
  },
  {
    name: "an abandoned vote is sent behind its rollback",
    edits: [
      { file: "redis/commands.ts", at: "isAbandoned value", instead: "false && claim" },
      { file: "redis/pipeline.ts", at: "sendAll abandoned", instead: "false" },
      {
        file: "redis/send-queue.ts",
        at: "post 2.6",
        instead: (statement) =>
          `if (isRelease(operation)) this.#waiting.unshift(operation); else ${statement}`,
      },
    ],
  },
  { name: "one deadline for two ttls", edits: [{ file: "redis/commands.ts", at: "12.4", instead: "true" }] },
  {
    name: "a late reply of one round counts in the next",
    edits: [
      {
        file: "waiting/queue-entry.ts",
        at: "onAnswer 2.14 condition",
        instead: 'answer.vote === "yes" && this.#claim',
      },
    ],
  },
];

/** Too rare for the budget of the others: the seed bank keeps a run that shows it. */
export const rareMutants: readonly Mutant[] = [
  {
    name: "a call whose time is over waits in the queue all the same",
    edits: [
      {
        file: "waiting/retry-budget.ts",
        at: "constructor timeIsOver statement",
        instead: "this.#endAfter(0);",
      },
    ],
  },
  { name: "a late queue entry grants the key of a detached lease", rules: { heldStay: false } },
  {
    name: "two milliseconds of the wall clock are forgiven after each suspension",
    edits: [
      { file: "time/lease-clock.ts", at: "now #elapsed value", instead: "Math.max(byMonotonic, byWall - 2)" },
    ],
  },
  {
    name: "a pause between reading the two clocks is not seen",
    edits: [{ file: "time/lease-clock.ts", at: "now monotonic value", instead: "before" }],
  },
];

type Send = Connection["send"];
type Args = Parameters<Send>[1];

/** Every connection, with another way to send. */
function each(change: (send: Send) => Send): (connections: readonly Connection[]) => readonly Connection[] {
  return (connections) =>
    connections.map((connection) => sending(connection, change(connection.send.bind(connection))));
}

/** Each master's commands wait for the answer of the master before. */
function inSequence(connections: readonly Connection[]): readonly Connection[] {
  let last: Promise<unknown> = Promise.resolve();
  return connections.map((connection) =>
    sending(connection, (command, args) => {
      const reply = last.then(() => connection.send(command, args));
      last = reply.catch(() => {});
      return reply;
    }),
  );
}

/** `connection` with another way to send. */
function sending(connection: Connection, send: Send): Connection {
  return {
    name: connection.name,
    client: connection.client,
    get session() {
      return connection.session;
    },
    get isReady() {
      return connection.isReady;
    },
    get notReadyReason() {
      return connection.notReadyReason;
    },
    connectFirst: () => connection.connectFirst(),
    send,
    isErrorReply: (error): error is Error => connection.isErrorReply(error),
    onReady: (listener) => connection.onReady(listener),
    close: () => connection.close(),
    disconnect: () => connection.disconnect(),
  };
}

function withClocks(runtime: Runtime, clocks: Partial<Pick<Runtime, "monotonic" | "wall">>): Runtime {
  return {
    monotonic: () => runtime.monotonic(),
    wall: () => runtime.wall(),
    randomBytes: (count) => runtime.randomBytes(count),
    setTimer: (callback, delay) => runtime.setTimer(callback, delay),
    ...clocks,
  };
}

function isRelease([script]: Args): boolean {
  return [releaseScript, leaveScript, guardedLeaveScript].some(({ sha1 }) => script === sha1);
}

function keysOf([, count, ...rest]: Args): Args {
  return rest.slice(0, Number(count));
}
