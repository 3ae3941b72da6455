import { type Args, type Connection, type Done, RedisNode } from "@quorlock/redlock/internal";
import { contract } from "@quorlock/testing/contract";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
// The package makes connections of clients and has no name for it: a broken adapter is a layer around a good one.
import { connectionOf } from "../../packages/redlock/src/adapters/client-libraries.ts";
import { casesOf } from "./collected-cases.ts";

interface Pending {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Part = Partial<Pick<Connection, "send" | "deliver" | "session" | "isReady">>;

/** A good connection with some members replaced. `deliver` is missing unless it is one of them. */
function changed(good: Connection, part: Part): Connection {
  return new Proxy(good, {
    get(target, name) {
      if (name === "deliver" || Object.hasOwn(part, name)) return Reflect.get(part, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Each answer goes to the command that `take` removes from those that are unanswered. */
function answering(
  good: Connection,
  take: (pending: Pending[], answer: unknown) => Pending | undefined,
): Part {
  const pending: Pending[] = [];
  return {
    send: (command, args) => {
      const outcome = new Promise((resolve, reject) => pending.push({ resolve, reject }));
      good.send(command, args).then(
        (reply) => take(pending, reply)?.resolve(reply),
        (error: unknown) => take(pending, error)?.reject(error),
      );
      return outcome;
    },
  };
}

/** Sends the commands of a turn later, in the order that `arrange` returns. */
function arranging(good: Connection, arrange: (calls: Array<[string, Args, Done]>) => typeof calls): Part {
  let calls: Array<[string, Args, Done]> = [];
  const sendAll = (): void => {
    const arranged = arrange(calls);
    calls = [];
    for (const [command, args, done] of arranged) {
      good.send(command, args).then(done, (error: unknown) => done(undefined, error));
    }
  };
  return {
    send: (command, args) =>
      new Promise((resolve, reject) => {
        if (calls.length === 0) queueMicrotask(sendAll);
        calls.push([command, args, (reply, error) => (error === undefined ? resolve(reply) : reject(error))]);
      }),
  };
}

function onceReady(good: Connection): Promise<void> {
  return new Promise((resolve) => {
    if (good.isReady) resolve();
    else {
      const stop = good.onReady(() => {
        stop();
        resolve();
      });
    }
  });
}

const own = "gives each of many commands its own answer";
const ownAfterLoss = `${own} after commands that were lost with their connection`;
const inOrder = "executes many commands in the order of the calls";
const eachOnce = "executes each command once";
const noResend = "rejects commands that are lost with their connection, and never sends them again";
const noLateSend = "rejects at once what is sent without a connection, and never sends it later";
const newNumber = "has a new session number before anything can be sent on the next connection";
const once = "settles each command once, and not before the call has returned";
const titles = [own, ownAfterLoss, inOrder, eachOnce, noResend, noLateSend, newNumber, once];

interface Broken {
  readonly refusedBy: string;
  readonly because: RegExp;
  readonly part: (good: Connection) => Part;
}

const broken: Record<string, Broken> = {
  "answers the last command first": {
    refusedBy: own,
    because: /command 1 of 60 has .* instead of the reply "value 1": the answer of another command/,
    part: (good) => answering(good, (pending) => pending.pop()),
  },
  "answers the last command first by deliver alone": {
    refusedBy: own,
    because: /instead of .*: the answer of another command/,
    part(good) {
      const { send } = answering(good, (pending) => pending.pop());
      return {
        send: (command, args) => good.send(command, args),
        deliver: ({ command, args }, done) => {
          send!(command, args).then(done, (error: unknown) => done(undefined, error));
        },
      };
    },
  },
  "keeps commands that were lost, and gives them the answers of later ones": {
    refusedBy: ownAfterLoss,
    because: /not within 10000 ms: a GET (whose connection was lost|of the next connection) is settled/,
    part: (good) =>
      answering(good, (pending, answer) =>
        answer instanceof Error && !good.isErrorReply(answer) ? undefined : pending.shift(),
      ),
  },
  "sends the commands of a turn in reverse": {
    refusedBy: inOrder,
    because: /out of order: \w+, command \d+ of 160, has the reply .* instead of the reply/,
    part: (good) => arranging(good, (calls) => calls.toReversed()),
  },
  "sends each command twice": {
    refusedBy: eachOnce,
    because: /20 INCR of a new key have left it at 40/,
    part: (good) => ({
      send(command, args) {
        const reply = good.send(command, args);
        good.send(command, args).catch(() => {});
        return reply;
      },
    }),
  },
  "changes its session number after it is ready": {
    refusedBy: newNumber,
    because: /session is 1 on two connections/,
    part(good) {
      let { session } = good;
      return {
        get session() {
          const next = good.session;
          setImmediate(() => {
            session = next;
          });
          return session === 0 ? next : session;
        },
      };
    },
  },
  "changes its session number on one connection": {
    refusedBy: newNumber,
    because: /session has changed on the same connection/,
    part(good) {
      let reads = 0;
      return {
        send(command, args) {
          if (command === "GET") reads += 1;
          return good.send(command, args);
        },
        get session() {
          return good.session + reads;
        },
      };
    },
  },
  "sends unanswered commands again on the next connection": {
    refusedBy: noResend,
    because: /a SET was lost with its connection and has the reply "OK"/,
    part: (good) => ({
      send: (command, args) =>
        good.send(command, args).catch(async (error: unknown) => {
          if (good.isErrorReply(error)) throw error;
          await onceReady(good);
          return good.send(command, args);
        }),
    }),
  },
  "rejects unanswered commands, and sends them again in silence": {
    refusedBy: noResend,
    because: /a SET was lost with its connection, and sent again on the next one/,
    part: (good) => ({
      send: (command, args) =>
        good.send(command, args).catch((error: unknown) => {
          if (!good.isErrorReply(error))
            void onceReady(good).then(() => good.send(command, args).catch(() => {}));
          throw error;
        }),
    }),
  },
  "keeps commands for the next connection while there is none": {
    refusedBy: noLateSend,
    because: /not within 10000 ms: a command without a connection is settled/,
    part: (good) => ({ send: (command, args) => onceReady(good).then(() => good.send(command, args)) }),
  },
  "rejects commands without a connection, and executes them later": {
    refusedBy: noLateSend,
    because: /a SET was called without a connection, and sent later on the next one/,
    part: (good) => ({
      send: (command, args) => {
        if (!good.isReady) void onceReady(good).then(() => good.send(command, args).catch(() => {}));
        return good.send(command, args);
      },
    }),
  },
  "calls done twice": {
    refusedBy: once,
    because: /2/,
    part: (good) => ({
      deliver: ({ command, args }, done) => {
        good.send(command, args).then(
          (reply) => {
            done(reply);
            done(reply);
          },
          (error: unknown) => done(undefined, error),
        );
      },
    }),
  },
};

/** The cases of the contract for connections, with this adapter. */
function casesWith(part: Broken["part"]): ReturnType<typeof casesOf> {
  return casesOf((framework) =>
    contract({
      name: "an adapter",
      framework,
      connect({ host, port }) {
        const good = connectionOf(new Redis(port, host).on("error", () => {}));
        return changed(good, part(good));
      },
    }),
  );
}

describe.concurrent("the contract refuses an adapter that", () => {
  for (const [what, { refusedBy, because, part }] of Object.entries(broken)) {
    test(what, async () => {
      const error = await casesWith(part).run(refusedBy);
      expect(String(error)).toMatch(because);
    });
  }
});

test("the contract refuses a node that is answered in the wrong order", async () => {
  const cases = casesOf((framework) =>
    contract({
      name: "a node",
      framework,
      makesNodes: true,
      connect({ host, port }) {
        const good = connectionOf(new Redis(port, host).on("error", () => {}));
        return new RedisNode(
          changed(
            good,
            answering(good, (pending) => pending.pop()),
          ),
        );
      },
    }),
  );
  expect(cases.titles).not.toContain(own);
  const title = cases.titles.find((each) => each.startsWith("answers each of several calls"))!;
  expect(String(await cases.run(title))).toMatch(/to deeply equal \[ '0 ow/);
});

test("the contract says that a node needs an option, and not a failure of the adapter", async () => {
  const cases = casesOf((framework) =>
    contract({
      name: "a node",
      framework,
      connect: ({ host, port }) => new RedisNode(connectionOf(new Redis(port, host).on("error", () => {}))),
    }),
  );
  expect(String(await cases.run(own))).toContain("pass makesNodes: true");
});

test("the contract accepts an adapter that breaks no rule", async () => {
  const cases = casesWith(() => ({}));
  for (const title of titles) expect(await cases.run(title)).toBeUndefined();
});
