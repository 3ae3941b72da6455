import type { Runtime } from "@quorlock/redlock";
import { type Connection, guardedLeaveScript, leaveScript, releaseScript } from "@quorlock/redlock/internal";
import { roundOf } from "../master/twins/rules.ts";
import { fencingMutants } from "./fencing-mutants.ts";
import type { Edit, Mutant } from "./mutant.ts";

/** The deadline is not looked at when an answer comes. */
const revival: Edit = {
  file: "protocol/lease.ts",
  line: "if (this.#established && this.remaining() === 0) return;",
  instead: "",
};

/** Nothing ends at the deadline by itself. */
const noEnd: Edit = {
  file: "protocol/lease.ts",
  line: "if (this.context.clock.now() >= this.noticeOf(this.#deadline)) this.lose(this.whyItRunsOut);\n    else this.#watch();",
  instead: "",
};

/** Faults in the queue: PROTOCOL 2.13, 2.14, 7. */
const queueMutants: readonly Mutant[] = [
  {
    name: "a lease that is handed off as it is counts from the hand-off",
    edits: [
      {
        file: "waiting/local-hand-off.ts",
        line: "ttl, deadlines });",
        instead: "ttl, deadlines: nodes.map(() => context.clock.now() + ttl) });",
      },
    ],
  },
  {
    name: "a waiter uses one token in all its rounds",
    edits: [
      {
        file: "waiting/queue-entry.ts",
        line: "this.#roundCount += 1;",
        instead: "this.#roundCount = 1;",
      },
    ],
  },
  {
    name: "a grant counts in whichever round it is heard",
    edits: [
      {
        file: "waiting/queue-entry.ts",
        line: "if (token !== claim?.token) return;",
        instead: "if (!claim) return;",
      },
    ],
  },
  {
    name: "a vote that was given up counts again",
    edits: [
      {
        file: "waiting/queue-entry.ts",
        line: "this.#deadlines = this.#context.nodes.map(() => never);",
        instead: "if (this.#deadlines.length === 0) this.#deadlines = this.#context.nodes.map(() => never);",
      },
    ],
  },
  {
    name: "the commands of a waiter touch the votes of all its rounds",
    edits: [
      {
        file: "redis/lua/scripts.ts",
        line: "return waiter ~= nil and waiter == other and tonumber(earlier) < tonumber(round)",
        instead: "return waiter ~= nil and waiter == other",
      },
    ],
    rules: { isMine: isOfOneWaiter },
  },
  {
    name: "a key is granted to a waiter that does not listen",
    edits: [
      { file: "redis/lua/queue.ts", line: "isTold and isHeard(inbox) == false", instead: "false" },
      { file: "redis/lua/queue.ts", line: "if told ~= 0 then return end", instead: "do return end" },
      { file: "redis/lua/queue.ts", line: "if isHeard(inbox) and pcall", instead: "if pcall" },
    ],
    rules: { isHeard: () => true },
  },
  {
    name: "a grant is pushed before its key is set",
    edits: [
      {
        file: "redis/lua/queue.ts",
        line: '  call("SET", key, token, "PX", ttl)\n  if counter',
        instead:
          '  local told = push(inbox, counter and token .. " " .. exactly(counter) or token)\n' +
          '  call("SET", key, token, "PX", ttl)\n  if counter',
      },
      {
        file: "redis/lua/queue.ts",
        line: '  local told = push(inbox, counter and token .. " " .. exactly(counter) or token)\n  if',
        instead: "  if",
      },
    ],
    rules: { pushesFirst: true },
  },
  {
    name: "the deadline of a grant counts from its receipt",
    edits: [
      {
        file: "waiting/queue-entry.ts",
        line: "const deadline = nodeDeadline(this.#sentAt, ttl, settings.driftFactor);",
        instead: "const deadline = nodeDeadline(clock.now(), ttl, settings.driftFactor);",
      },
    ],
  },
  {
    name: "a waiter that few masters answer stays in the queues",
    edits: [
      {
        file: "waiting/queue-entry.ts",
        line: "faults > toleratedFailures(nodes.length)",
        instead: "faults < 0",
      },
    ],
  },
  {
    name: "a waiter stays in the queue after its grant",
    edits: [
      {
        file: "redis/lua/queue.ts",
        line: "for index = first, last do forget(KEYS[index], waiter) end",
        instead: "",
      },
      {
        file: "redis/lua/queue.ts",
        line: "if told then forget(key, waiter) else",
        instead: "if not told then",
      },
    ],
    rules: { grantedLeave: false },
  },
  {
    name: "a refused waiter keeps what it was given before",
    edits: [
      {
        file: "redis/lua/queue.ts",
        line: "if not isTaken[index] then give(KEYS[index]) end",
        instead: "",
      },
    ],
    rules: { refusedYield: false },
  },
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
      {
        file: "protocol/placement.ts",
        line:
          "this.whyLeft ??= why;\n" +
          "    this.nodes = this.nodes.map((other) => (other === node ? old : other));",
        instead: "void [why, node, old];",
      },
      {
        file: "protocol/placement.ts",
        line: "for (const lease of [...this.#leases]) if (lease.placement !== this.current) lease.lose(why);",
        instead: "",
      },
    ],
  },
  {
    name: "a predecessor takes back a grant to the token that it gave away",
    edits: [{ file: "waiting/local-queue.ts", line: "if (lease.isDetached)", instead: "if (false)" }],
  },
  {
    name: "a lease is renewed by setting its key anew",
    edits: [
      {
        file: "redis/lua/scripts.ts",
        line: 'if left >= 0 and (isShort or isOther) then call("PEXPIRE", KEYS[index], lives) end',
        instead:
          'if left >= 0 and (isShort or isOther) then call("SET", KEYS[index], token, "PX", lives) end',
      },
      {
        file: "redis/lua/scripts.ts",
        line: 'local isThere = call("PEXPIRE", KEYS[1], ttl) == 1',
        instead: "local isThere = false",
      },
    ],
    rules: { renewsBySet: true },
  },
];

/** Each must be found by the harness; one that survives is a failing test. */
export const mutants: readonly Mutant[] = [
  ...queueMutants,
  ...holdMutants,
  ...fencingMutants,
  {
    name: "half of the masters are a quorum",
    edits: [
      {
        file: "protocol/quorum.ts",
        line: "return Math.floor(members / 2) + 1;",
        instead: "return Math.ceil(members / 2);",
      },
    ],
  },
  {
    name: "a minority is a quorum",
    edits: [
      {
        file: "protocol/quorum.ts",
        line: "return Math.floor(members / 2) + 1;",
        instead: "return Math.max(1, Math.floor(members / 2));",
      },
    ],
  },
  {
    name: "no drift is taken off",
    edits: [
      {
        file: "time/validity.ts",
        line: "return sentAt + (ttl - expiryGrain) * (1 - driftFactor) - readingGrain;",
        instead: "return sentAt + ttl;",
      },
    ],
  },
  {
    name: "the time is read when the reply comes, not before the send",
    edits: [
      {
        file: "protocol/attempt.ts",
        line: "nodeDeadline(round.sentAt, ttl, settings.driftFactor)",
        instead: "nodeDeadline(clock.now(), ttl, settings.driftFactor)",
      },
    ],
  },
  {
    name: "an extension counts from its reply",
    edits: [
      {
        file: "protocol/extend.ts",
        line: "nodeDeadline(round.sentAt, remaining, settings.driftFactor)",
        instead: "nodeDeadline(round.sentAt + round.timeout, remaining, settings.driftFactor)",
      },
    ],
  },
  {
    name: "a lease lasts as long as its longest master",
    edits: [
      {
        file: "time/validity.ts",
        line: "if (reached >= quorum && candidate > latest)",
        instead: "if (reached >= 1 && candidate > latest)",
      },
    ],
  },
  {
    name: "a client uses one token for ever",
    edits: [
      {
        file: "protocol/attempt.ts",
        line: "const token = isQueued ? firstToken(runtime) : newToken(runtime);",
        instead: "const token = ((runtime as any).onlyToken ??= firstToken(runtime));",
      },
    ],
  },
  {
    name: "the deadline has no timer",
    edits: [
      {
        file: "protocol/lease.ts",
        line: "this.#timerHandle = timers.add(due, this);",
        instead: "this.#timerHandle = timers.add(due, { onDue: () => {} });",
      },
    ],
  },
  {
    name: "a silent master is waited for",
    edits: [
      {
        file: "protocol/round.ts",
        line: "this.#timer = plan.runtime.setTimer(() => this.#expire(plan, due), delay);",
        instead: "this.#timer = plan.runtime.setTimer(() => void due, delay);",
      },
    ],
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
    edits: [
      {
        file: "protocol/attempt.ts",
        line: "const rolledBack = rollBack(context, claim, round);",
        instead: "const rolledBack = Promise.resolve();",
      },
    ],
  },
  {
    name: "only masters that said yes are rolled back",
    edits: [
      {
        file: "protocol/attempt.ts",
        line: 'if (answer === undefined || answer.vote === "yes") return true;',
        instead: 'return answer?.vote === "yes";',
      },
    ],
  },
  {
    name: "late votes make a lock all the same",
    edits: [
      {
        file: "protocol/attempt.ts",
        line: "if (!won || leaseDeadline(deadlines, quorum) - clock.now() <= settings.minimumValidity)",
        instead: "if (!won)",
      },
    ],
  },
  {
    name: "an extension that is answered after the deadline revives the lease",
    edits: [revival, noEnd],
  },
  {
    name: "an expired lease is repaired",
    edits: [
      revival,
      noEnd,
      {
        file: "protocol/lease.ts",
        line: "    this.lose(this.whyItRunsOut);\n    return 0;",
        instead: "    return 0;",
      },
    ],
  },
  {
    name: "an extension may shorten a key",
    edits: [
      {
        file: "redis/lua/scripts.ts",
        line: "left ~= -1 and left < least, owners",
        instead: "left ~= -1, owners",
      },
    ],
    rules: { isShort: () => true },
  },
  {
    name: "a key that holds the token already is not renewed, and counts all the same",
    edits: [
      { file: "redis/lua/scripts.ts", line: 'call("PEXPIRE", KEYS[index], lives)', instead: "" },
      { file: "redis/lua/scripts.ts", line: 'call("PEXPIRE", KEYS[1], ttl) == 1', instead: "true" },
    ],
    rules: { isSet: false },
  },
  {
    name: "a lease ends when its release is answered, not before it is sent",
    edits: [
      {
        file: "protocol/lease.ts",
        line: 'if (!this.hasEnded) this.#endAs("released");\n      this.#releasing = send();',
        instead:
          "this.#releasing = send();\n" +
          '      if (!this.hasEnded) void this.#releasing.then(() => this.#endAs("released"));',
      },
    ],
  },
  {
    name: "a reply counts for the wrong operation of a batch",
    edits: [
      {
        file: "redis/batch.ts",
        line: "const ownReply = replies[index];",
        instead: "const ownReply = replies[operations.length - 1 - index];",
      },
    ],
  },
  {
    name: "a master is sent what another one was asked",
    edits: [
      {
        file: "redis/commands.ts",
        line: "!latestEncoded || !areEqual(latestEncoded.operations, operations)",
        instead: "latestEncoded?.operations.length !== operations.length",
      },
    ],
  },
  {
    name: "an abandoned vote is sent behind its rollback",
    edits: [
      {
        file: "redis/commands.ts",
        line: "return claim?.abandoned === true;",
        instead: "return false && claim;",
      },
      { file: "redis/pipeline.ts", line: "operation.claim?.abandoned ||", instead: "" },
      {
        file: "redis/send-queue.ts",
        line: "    this.#waiting.push(operation);\n",
        instead:
          "    if (isRelease(operation)) this.#waiting.unshift(operation);\n    else this.#waiting.push(operation);\n",
      },
    ],
  },
  {
    name: "one deadline for two ttls",
    edits: [{ file: "redis/commands.ts", line: "    next.ttl === other.ttl &&\n", instead: "" }],
  },
  {
    name: "a late reply of one round counts in the next",
    edits: [
      {
        file: "waiting/queue-entry.ts",
        line: 'if (answer.vote === "yes" && claim === this.#claim) this',
        instead: 'if (answer.vote === "yes" && this.#claim) this',
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
        line: "else this.ended.cancel(timeIsOver());",
        instead: "else this.#endAfter(0);",
      },
    ],
  },
  {
    name: "a late queue entry grants the key of a detached lease",
    edits: [
      {
        file: "redis/lua/queue.ts",
        line: "isHeld = isHeld or owner == token",
        instead: "",
      },
    ],
    rules: { heldStay: false },
  },
  {
    name: "two milliseconds of the wall clock are forgiven after each suspension",
    edits: [
      {
        file: "time/lease-clock.ts",
        line: "this.#elapsed += jumped ? Math.max(byMonotonic, byWall + wallGrain + monotonic - before) : byMonotonic;",
        instead: "this.#elapsed += Math.max(byMonotonic, byWall - 2);",
      },
    ],
  },
  {
    name: "a pause between reading the two clocks is not seen",
    edits: [
      {
        file: "time/lease-clock.ts",
        line: "const monotonic = this.#runtime.monotonic();",
        instead: "const monotonic = before;",
      },
    ],
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
