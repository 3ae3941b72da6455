import { afterEach, describe, expect, test, vi } from "vitest";
import type { Client, RedlockOptions } from "./client.ts";
import { ClosedError, ExecutionError, InvalidArgumentError } from "./errors.ts";
import type { Lock } from "./holding/lock.ts";
import type { LockNode, Sink } from "./protocol/node.ts";
import { Redlock } from "./redlock.ts";
import { Gate, resumedHere, VirtualClient, virtualSetting } from "./virtual-time.test.ts";

// PROTOCOL 5.11.

const { nodes: threeNodes } = virtualSetting(3);

function construct(clients: unknown, ...more: unknown[]): Redlock {
  return new Redlock(clients as Client[], ...(more as []));
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("the constructor", () => {
  test.each([
    ["no clients", [[]], "clients must "],
    ["something that is no client", [[{}]], "client 0 is an object; expected a Redis or Cluster of ioredis"],
    ["nothing for a client", [[threeNodes[0], null]], "client 1 is null"],
    ["text for a client", [["redis://localhost"]], "client 0 is a string"],
    ["one client twice", [[threeNodes[0], threeNodes[1], threeNodes[0]]], "each client may be passed once"],
    [
      "a bad setting",
      [threeNodes, { driftFactor: 2 }],
      "driftFactor must be a number from 0 to 0.5, but is 2",
    ],
    [
      "no concurrency",
      [threeNodes, { acquireConcurrency: 0 }],
      "acquireConcurrency must be a whole number, 1 or more, but is 0",
    ],
    [
      "half a place",
      [threeNodes, { acquireConcurrency: 1.5 }],
      "acquireConcurrency must be a whole number, 1 or more, but is 1.5",
    ],
    ["custom scripts", [threeNodes, {}, { acquireScript: "return 1" }], "custom scripts are not supported"],
  ] as const)("refuses %s", (_, args, message) => {
    const attempt = () => construct(...(args as [unknown]));
    expect(attempt).toThrow(InvalidArgumentError);
    expect(attempt).toThrow(message);
  });

  test.each([
    ["no list at all", [undefined]],
    ["a client that is in no list", [threeNodes[0]]],
    ["null for the options", [threeNodes, null]],
    ["null for the scripts", [threeNodes, {}, null]],
    ["something without text for the concurrency", [threeNodes, { acquireConcurrency: Object.create(null) }]],
  ] as const)("refuses %s with an error of ours, or takes it", (_, args) => {
    try {
      construct(...(args as unknown as [unknown]));
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidArgumentError);
    }
  });

  test.each([
    ...["acquireConcurrency", "groupCommit", "queue", "fencing", "reentrant", "restartGuard", "clockWatch"],
    ...["owner", "logger", "runtime", "retryCount", "nodeTimeout", "waitTimeout", "backoff"],
  ])("an option %s that is null counts as absent", (name) => {
    const redlock = construct(threeNodes, { [name]: null });
    expect(redlock.settings).toEqual(construct(threeNodes).settings);
  });

  test("takes any iterable of clients, and an empty scripts argument", () => {
    expect(new Redlock(new Set(threeNodes), {}, { acquireScript: undefined })).toBeInstanceOf(Redlock);
  });

  test("refuses the library's own keys on custom nodes as well", async () => {
    const { nodes } = virtualSetting(1);
    expect(nodes[0]).not.toHaveProperty("refuses");
    await expect(new Redlock(nodes).acquire("quorlock:guard", 5000)).rejects.toThrow(InvalidArgumentError);
  });

  test("refuses contexts where there is no AsyncLocalStorage, and no handles", () => {
    vi.stubGlobal("process", undefined);
    expect(() => construct(threeNodes, { reentrant: true })).toThrow('reentrant: "handle"');
    expect(construct(threeNodes, { reentrant: "handle" })).toBeInstanceOf(Redlock);
  });

  test("sends nothing", () => {
    const { nodes } = virtualSetting(3);
    for (const node of nodes) expect(node.sent).toEqual([]);
  });
});

describe("invalid arguments", () => {
  test("reject, before anything is sent", async () => {
    const { nodes, redlock } = virtualSetting(3);
    const calls = [
      redlock.acquire([], 1000),
      redlock.acquire("", 1000),
      redlock.acquire("r", 0),
      redlock.acquire("r", 1000, { retryCount: -2 }),
      redlock.acquire("r", 1000, { nodeTimeout: 990 }),
      redlock.tryAcquire(["r", "r"], 1000),
      redlock.tryAcquire("r", 1),
      redlock.using("r", 1.5, () => 1),
      redlock.inspect(""),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(InvalidArgumentError);
    for (const node of nodes) expect(node.sent).toEqual([]);
  });

  test("of a lock's own methods reject too, and the lock does not change", async () => {
    const { time, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    await expect(lock.extend(0)).rejects.toThrow(InvalidArgumentError);
    await expect(redlock.extend(lock, 1000, { driftFactor: -1 })).rejects.toThrow(InvalidArgumentError);
    expect(lock.state).toBe("held");
  });

  test("of release reject too: the call itself does not throw", async () => {
    const { time, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    let thrown: unknown;
    try {
      await redlock.release(lock, { driftFactor: -1 }).catch(() => {});
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeUndefined();
  });

  test("resources that a master cannot lock together are refused, with its reason", async () => {
    const { nodes, redlock } = virtualSetting(3);
    (nodes[1] as LockNode).refuses = ([first, second]) => (first === second ? undefined : "not in one slot");
    await expect(redlock.acquire(["a", "b"], 1000)).rejects.toThrow("master-1: not in one slot");
    await expect(redlock.acquire(["a", "b"], 1000)).rejects.toThrow(InvalidArgumentError);
    for (const node of nodes) expect(node.sent).toEqual([]);
  });

  test("a nodeTimeout beyond the longest timer is limited to it", async () => {
    const { time, masters, nodes, redlock } = virtualSetting(3, { nodeTimeout: 2 ** 32 });
    nodes[0]!.hang();
    const lock = await time.run(redlock.acquire("r", 2 ** 40));
    expect(masters[1]!.owner("r")).toBe(lock.value);
  });
});

describe("tryAcquire", () => {
  test("resolves to a lock if it is free, null if another client holds it", async () => {
    const { time, nodes, redlock } = virtualSetting(3, { retryCount: 10, waitTimeout: 60_000 });
    const lock = await time.run(redlock.tryAcquire("r", 1000));
    expect(lock?.state).toBe("held");
    const begun = time.now();
    expect(await time.run(redlock.tryAcquire("r", 1000))).toBeNull();
    // One vote, and one rollback on masters whose answer came after the decision.
    expect(time.now() - begun).toBeLessThanOrEqual(4);
    expect(nodes[0]!.kinds.filter((kind) => kind === "vote")).toHaveLength(2);
  });

  test("rejects if no quorum answers", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    nodes[0]!.cut();
    nodes[1]!.cut();
    await expect(time.run(redlock.tryAcquire("r", 1000))).rejects.toThrow(ExecutionError);
  });
});

describe("a lock that is passed to another Redlock than its own", () => {
  test("is extended, verified and released by its own clocks and masters", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3);
    const other = new VirtualClient(masters, {}, 2);
    await time.advance(500);
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.run(other.redlock.extend(lock, 2000));
    expect(lock.remaining()).toBeCloseTo(1999 * 0.99 - 1 - 2, 6);
    expect(await time.run(other.redlock.verify(lock))).toBe(true);
    expect(await time.run(other.redlock.release(lock))).toMatchObject({ outcome: "released" });
    expect(other.nodes.flatMap(({ sent }) => sent)).toEqual([]);
    expect(nodes[0]!.kinds).toEqual(["vote", "extend", "extend", "release"]);
  });
});

describe("the error event", () => {
  test("is for faults, and never for contention", async () => {
    const { time, nodes, masters, redlock, client } = virtualSetting(3);
    for (const master of masters) master.put("r", "rival");
    expect(await time.run(redlock.tryAcquire("r", 1000))).toBeNull();
    expect(client.faults).toEqual([]);
    nodes[0]!.cut();
    expect(await time.run(redlock.tryAcquire("r", 1000))).toBeNull();
    expect(client.faults).toMatchObject([{ node: "master-0", reason: "UNREACHABLE", code: "NODE" }]);
  });

  test("without a listener throws nothing", async () => {
    const { time, nodes, machine } = virtualSetting(3);
    const redlock = new Redlock(nodes, { runtime: machine, retryCount: 0 });
    nodes[0]!.cut();
    const lock = await time.run(redlock.acquire("r", 1000));
    nodes[1]!.cut();
    nodes[2]!.cut();
    await time.advance(5000);
    expect(lock.state).toBe("lost");
  });
});

function oops(): never {
  throw new Error("a listener's own fault");
}

const itsFault = [expect.objectContaining({ message: "a listener's own fault" })];

function bed(count: number, options: RedlockOptions = {}) {
  const setting = virtualSetting(count, { nodeTimeout: 50, ...options });
  // An error of a listener ends the process, as a separate uncaught exception.
  setting.machine.uncaught = [];
  return setting;
}

describe("a listener that throws", () => {
  test("of `error` lets every call settle, and its error is not swallowed", async () => {
    const { time, nodes, machine, redlock } = bed(1);
    redlock.on("error", oops);
    nodes[0]!.cut();
    const { error } = await time.measure(redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ExecutionError);
    await time.advance(5);
    expect(machine.uncaught).toEqual(itsFault);
  });

  test("of `error` does not prevent a pending delete", async () => {
    const { time, nodes, masters, redlock } = bed(1);
    redlock.on("error", oops);
    nodes[0]!.mute = true;
    const acquiring = redlock.acquire("r", 1000);
    acquiring.catch(() => {});
    await time.advance(1);
    nodes[0]!.cut();
    await time.advance(200);
    nodes[0]!.mute = false;
    nodes[0]!.restore();
    await time.advance(5);
    expect(masters[0]!.owner("r")).toBeUndefined();
  });

  test("of `lost` does not throw at the code that reads the lock", async () => {
    const { time, machine, redlock } = bed(3);
    redlock.on("lost", oops);
    const lock = await time.run(redlock.acquire("r", 1000));
    machine.block(2000);
    expect(() => lock.remaining()).not.toThrow();
    expect(lock.state).toBe("lost");
    await time.advance(2005);
    expect(machine.uncaught).toEqual(itsFault);
  });

  test("of `lost` does not change the result of a routine", async () => {
    const { time, masters, redlock } = bed(3);
    redlock.on("lost", oops);
    const using = redlock.using("r", 1000, async (_, lock) => {
      for (const master of masters) master.put("r", "rival");
      await lock.verify();
      return "result";
    });
    expect(await time.run(using)).toBe("result");
  });

  test("of `lost` does not delay an extension", async () => {
    const { time, machine, nodes, redlock } = bed(3, { retryCount: -1, backoff: () => 10_000 });
    redlock.on("lost", oops);
    const lock = await time.run(redlock.acquire("r", 60_000));
    for (const node of nodes) node.cut();
    const extending = lock.extend(60_000);
    extending.catch(() => {});
    await time.advance(10);
    machine.stepWall(100_000);
    lock.remaining();
    expect((await time.measure(extending)).took).toBe(0);
  });
});

describe("quit with a drain", () => {
  test("goes on extending the lock of a routine, which ends by itself", async () => {
    const { time, masters, client, redlock } = virtualSetting(3);
    const gate = new Gate();
    const running = redlock.using("r", 1000, () => gate.opened);
    await time.advance(10);
    const quitting = redlock.quit({ drain: 20_000 });
    await time.advance(5000);
    expect(masters[0]!.owner("r")).toBeDefined();
    gate.open();
    const { took } = await time.measure(Promise.all([running, quitting]));
    expect(took).toBeLessThan(10);
    expect(client.lost).toEqual([]);
    expect(masters[0]!.owner("r")).toBeUndefined();
  });

  test("lasts no longer than it may, nor without a lock", async () => {
    const { time, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 10_000));
    const { took } = await time.measure(redlock.quit({ drain: 3000 }));
    expect(took).toBeGreaterThanOrEqual(3000);
    expect(took).toBeLessThan(3010);
    expect(lock.state).toBe("lost");
    expect((await time.measure(virtualSetting(3).redlock.quit({ drain: 3000 }))).took).toBeLessThan(10);
  });

  test("confirms no lock that was only resumed, and lets none be resumed", async () => {
    const { time, redlock } = virtualSetting(3);
    const detached = await time.run((await time.run(redlock.acquire("r", 10_000))).detach());
    const lock = redlock.resume(detached);
    await time.run(redlock.acquire("q", 10_000));
    const quitting = redlock.quit({ drain: 1000 });
    await expect(time.run(lock.extend(10_000))).rejects.toThrow(ClosedError);
    await expect(time.run(lock.verify())).rejects.toThrow(ClosedError);
    expect(() => redlock.resume(detached)).toThrow(ClosedError);
    await time.run(quitting);
  });

  test("goes on with a lock that was resumed and is held", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    const lock = await resumedHere(setting, await time.run(redlock.acquire("r", 10_000)));
    const verifying = lock.verify();
    const quitting = redlock.quit({ drain: 1000 });
    expect(await time.run(verifying)).toBe(true);
    await time.run(lock.extend(20_000));
    expect(await time.run(lock.verify())).toBe(true);
    expect(lock.remaining()).toBeGreaterThan(19_000);
    await time.run(quitting);
    expect(lock.state).toBe("lost");
  });
});

describe("quit", () => {
  test.each<[string, (lock: Lock) => Promise<unknown>]>([
    ["verified", (lock) => lock.verify()],
    ["extended", (lock) => lock.extend(20_000).catch(() => false)],
  ])("releases a resumed lock that is being %s", async (_, confirm) => {
    const { time, masters, redlock, client } = virtualSetting(3);
    const lock = redlock.resume(await time.run((await time.run(redlock.acquire("r", 20_000))).detach()));
    const confirming = confirm(lock);
    await time.run(redlock.quit({ keepClients: true }));
    expect(await time.run(confirming)).toBe(false);
    expect([lock.state, lock.remaining(), lock.signal.aborted]).toEqual(["lost", 0, true]);
    expect(client.lost).toEqual([lock]);
    for (const master of masters) expect(master.owner("r")).toBeUndefined();
  });

  test("releases every lock that is held, then closes every client", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3);
    const locks = await time.run(Promise.all([redlock.acquire("a", 1000), redlock.acquire("b", 1000)]));
    for (const node of nodes) {
      node.sent.length = 0;
      node.close = () => {
        expect(node.kinds).toEqual(["release", "release"]);
        node.closed.push("close");
        return Promise.resolve();
      };
    }
    await time.run(redlock.quit());
    for (const lock of locks) expect([lock.state, lock.remaining()]).toEqual(["lost", 0]);
    for (const master of masters)
      expect([master.owner("a"), master.owner("b")]).toEqual([undefined, undefined]);
    for (const node of nodes) expect(node.closed).toEqual(["close", "disconnect"]);
  });

  test("notifies the holder of a lock once, before the first byte of its release is sent", async () => {
    const { time, nodes, redlock, client } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    const { signal } = lock;
    const aborted: boolean[] = [];
    for (const node of nodes) node.onSend = () => aborted.push(signal.aborted);
    await time.run(redlock.quit());
    expect(aborted).toEqual([true, true, true]);
    expect(signal.reason).toMatchObject({ code: "LOCK_LOST", why: "quit() released it" });
    await time.advance(5000);
    expect(client.lost).toEqual([lock]);
  });

  test("settles in time, for all faults of the masters", async () => {
    const { time, nodes, redlock } = virtualSetting(3, { nodeTimeout: 50 });
    await time.run(redlock.acquire("r", 1000));
    for (const node of nodes) node.hang();
    expect(await time.measure(redlock.quit())).toMatchObject({ took: 100, error: undefined });
    for (const node of nodes) expect(node.closed).toEqual(["close", "disconnect"]);
  });

  test("settles in a second without a nodeTimeout", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    await time.run(redlock.acquire("r", 60_000));
    for (const node of nodes) node.hang();
    const { took } = await time.measure(redlock.quit());
    expect(took).toBeLessThanOrEqual(1000);
  });

  test.each<[string, (redlock: Redlock, hang: () => void) => Promise<unknown>]>([
    [
      "an acquire",
      async (redlock, hang) => {
        hang();
        void redlock.acquire("r", 60_000, { nodeTimeout: 3000 }).catch(() => {});
      },
    ],
    [
      "a release",
      async (redlock, hang) => {
        const lock = await redlock.acquire("r", 60_000);
        hang();
        void redlock.release(lock, { nodeTimeout: 3000 });
      },
    ],
    [
      "a using",
      async (redlock, hang) => {
        const begun = new Promise<void>((resolve) => {
          const using = redlock.using("r", 60_000, { nodeTimeout: 3000 }, async (signal) => {
            resolve();
            await new Promise((done) => signal.addEventListener("abort", done));
          });
          using.catch(() => {});
        });
        await begun;
        hang();
      },
    ],
  ])("settles within its own time, regardless of the nodeTimeout of %s", async (_, begin) => {
    const { time, nodes, redlock } = virtualSetting(3, { nodeTimeout: 50 });
    const hang = () => {
      for (const node of nodes) node.hang();
    };
    await time.run(begin(redlock, hang));
    const { took } = await time.measure(redlock.quit());
    expect(took).toBeLessThanOrEqual(100);
    for (const node of nodes) expect(node.closed).toEqual(["close", "disconnect"]);
  });

  test("settles even if a client fails to close", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    nodes[0]!.close = () => Promise.reject(new Error("Connection is closed."));
    expect(await time.measure(redlock.quit())).toMatchObject({ took: 0, error: undefined });
  });

  test("happens once", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    const first = redlock.quit();
    expect(redlock.quit()).toBe(first);
    await time.run(first);
    for (const node of nodes) expect(node.closed).toEqual(["close", "disconnect"]);
  });

  test("ends every waiting acquire with a ClosedError: between attempts, in a round, before admission", async () => {
    const { time, masters, nodes, redlock } = virtualSetting(3, {
      retryCount: -1,
      retryDelay: 10_000,
      acquireConcurrency: 1,
      nodeTimeout: 50,
    });
    for (const master of masters) master.put("taken", "rival");
    const between = redlock.acquire("taken", 1000);
    between.catch(() => {});
    await time.advance(100);
    for (const node of nodes) node.hang();
    const waiting = [between, redlock.acquire("a", 1000), redlock.acquire("b", 1000)];
    for (const one of waiting) one.catch(() => {});
    await time.advance(10);
    const begun = time.now();
    await time.run(redlock.quit());
    const results = await time.run(Promise.allSettled(waiting));
    for (const result of results)
      expect(result).toMatchObject({ status: "rejected", reason: expect.any(ClosedError) });
    expect(time.now() - begun).toBeLessThanOrEqual(100);
  });

  test("rolls back the votes in flight before it closes the clients", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    for (const node of nodes) node.toMaster = 20;
    const acquiring = redlock.acquire("r", 1000);
    acquiring.catch(() => {});
    await time.advance(5);
    for (const node of nodes) {
      node.close = () => {
        expect(node.kinds).toEqual(["vote", "release"]);
        return Promise.resolve();
      };
    }
    await time.run(redlock.quit());
    await expect(time.run(acquiring)).rejects.toThrow(ClosedError);
  });

  test.each([false, true])(
    "at the moment of a grant leaves no unknown lock behind, reentrant: %s",
    async (reentrant) => {
      for (let moment = 0; moment < 40; moment += 1) {
        const { time, nodes, masters, redlock } = virtualSetting(1, { reentrant });
        const askNode = nodes[0]!.ask.bind(nodes[0]);
        let quitting: Promise<void> | undefined;
        nodes[0]!.ask = (question, place, sink) => {
          const answered: Sink["answered"] = (_, answer) => {
            let turns = Promise.resolve();
            for (let turn = 0; turn < moment; turn += 1) turns = turns.then(() => {});
            void turns.then(() => {
              quitting = redlock.quit();
            });
            // The first of the moments is before the answer arrives.
            void Promise.resolve().then(() => sink.answered(place, answer));
          };
          askNode(question, place, question.verb === "vote" ? { answered } : sink);
        };
        const acquiring = redlock.acquire("r", 1000).then(
          (lock) => {
            if (lock.state === "lost") expect(lock.signal.aborted, `moment ${moment}`).toBe(true);
            return lock.state;
          },
          (error: unknown) => error,
        );
        const outcome = await time.run(acquiring);
        await time.run(quitting!);
        expect(outcome instanceof ClosedError || outcome === "held" || outcome === "lost").toBe(true);
        await time.advance(5);
        expect(masters[0]!.owner("r")).toBeUndefined();
      }
    },
  );

  test("does not touch a detached lock", async () => {
    const { time, masters, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.run(lock.detach());
    await time.run(redlock.quit());
    await time.advance(5);
    for (const master of masters) expect(master.owner("r")).toBe(lock.value);
    expect(lock.signal.aborted).toBe(false);
  });

  test("lets no new operation begin", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    await time.run(redlock.quit());
    await expect(redlock.acquire("r", 1000)).rejects.toThrow(ClosedError);
    await expect(redlock.tryAcquire("r", 1000)).rejects.toThrow(ClosedError);
    await expect(redlock.using("r", 1000, () => 1)).rejects.toThrow(ClosedError);
    for (const node of nodes) expect(node.sent).toEqual([]);
  });

  test("releases a lock for its holder, too: nothing is sent again", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.run(redlock.quit());
    for (const node of nodes) node.sent.length = 0;
    expect(await time.run(lock.release())).toMatchObject({ outcome: "released" });
    for (const node of nodes) expect(node.sent).toEqual([]);
  });

  test("leaves no timer behind", async () => {
    const { time, machine, redlock } = virtualSetting(3);
    await time.run(redlock.acquire("r", 1000));
    await time.run(redlock.quit());
    await time.advance(5);
    expect(machine.timers.size).toBe(0);
  });
});
