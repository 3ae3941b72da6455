import { describe, expect, test } from "vitest";
import {
  AbortError,
  ClosedError,
  ExecutionError,
  InvalidArgumentError,
  ResourceLockedError,
} from "../errors.ts";
import { Lock } from "../holding/lock.ts";
import { VirtualClient, virtualSetting } from "../virtual-time.test.ts";
import { Semaphore } from "./semaphore.ts";

// PROTOCOL 10.1, 10.2.

const patient = { waitTimeout: 60_000, retryDelay: 20, retryJitter: 10 };

/** Which slots have a key on the first master. */
function taken(
  setting: Pick<ReturnType<typeof virtualSetting>, "masters">,
  limit: number,
): readonly number[] {
  const slots = Array.from({ length: limit }, (_, index) => index);
  return slots.filter((index) => setting.masters[0]!.owner(`{api}:slot:${index}`) !== undefined);
}

/** How often this client has asked for the only slot. */
function asked({ nodes }: VirtualClient): number {
  const votes = nodes[0]!.sent.filter(({ kind }) => kind === "vote");
  return votes.filter(({ resources }) => resources[0] === "{api}:slot:0").length;
}

describe("a semaphore's arguments", () => {
  test.each([
    ["no name", ["", 5]],
    ["a name that is no text", [7, 5]],
    ["no limit", ["api", 0]],
    ["half a limit", ["api", 1.5]],
    ["no number for the limit", ["api", "5"]],
  ] as const)("refuses %s", (_, [name, limit]) => {
    const { redlock } = virtualSetting(3);
    expect(() => new Semaphore(redlock, name as string, limit as number)).toThrow(InvalidArgumentError);
  });

  test("refuses wrong permits, ttls and settings before anything is sent", async () => {
    const { redlock, nodes } = virtualSetting(3);
    const semaphore = new Semaphore(redlock, "api", 2);
    const calls = [
      semaphore.acquire(1000, { permits: 3 }),
      semaphore.acquire(1000, { permits: 0 }),
      semaphore.tryAcquire(1000, { permits: 1.5 }),
      semaphore.acquire(0),
      semaphore.acquire(1000, { nodeTimeout: 2000 }),
      semaphore.using(1000, { automaticExtensionThreshold: 2000 }, () => {}),
      semaphore.using(1000, undefined as never),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(InvalidArgumentError);
    // A free permit would be granted whatever `parent` says, so it is refused up front.
    const outer = { parent: {} } as object;
    const nested = [
      semaphore.acquire(1000, outer),
      semaphore.tryAcquire(1000, outer),
      semaphore.using(1000, outer, () => {}),
    ];
    const why = '"parent" is an option of acquire, tryAcquire and using, not of the calls of a Semaphore';
    for (const call of nested) await expect(call).rejects.toThrow(why);
    expect(nodes.flatMap(({ sent }) => sent)).toEqual([]);
  });
});

describe("tryAcquire", () => {
  test("grants as many as the limit, each a lock of another slot, then none", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    const semaphore = new Semaphore(redlock, "api", 3);
    const locks: Lock[] = [];
    for (let count = 0; count < 3; count += 1) locks.push((await time.run(semaphore.tryAcquire(1000)))!);
    for (const lock of locks) expect(lock).toBeInstanceOf(Lock);
    expect(locks.flatMap(({ resources }) => resources).sort()).toEqual([
      "{api}:slot:0",
      "{api}:slot:1",
      "{api}:slot:2",
    ]);
    expect(await time.run(semaphore.tryAcquire(1000))).toBeNull();
    await time.run(locks[1]!.release());
    const next = await time.run(semaphore.tryAcquire(1000));
    expect(next!.resources).toEqual(locks[1]!.resources);
  });

  test("tries only the slot that it has just released", async () => {
    const { time, redlock, nodes } = virtualSetting(3);
    const semaphore = new Semaphore(redlock, "api", 5);
    const first = (await time.run(semaphore.tryAcquire(1000)))!;
    await time.run(semaphore.tryAcquire(1000));
    await time.run(first.release());
    const before = nodes[0]!.sent.length;
    await time.run(semaphore.tryAcquire(1000));
    expect(nodes[0]!.sent.slice(before).map(({ resources }) => resources)).toEqual([first.resources]);
  });

  test("takes several permits as one lock over as many slots, or none of them", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    const semaphore = new Semaphore(redlock, "api", 5);
    const three = (await time.run(semaphore.tryAcquire(1000, { permits: 3 })))!;
    expect(new Set(three.resources).size).toBe(3);
    expect(await time.run(semaphore.tryAcquire(1000, { permits: 3 }))).toBeNull();
    await time.advance(10);
    expect(taken(setting, 5)).toHaveLength(3);
    const two = (await time.run(semaphore.tryAcquire(1000, { permits: 2 })))!;
    expect(new Set([...two.resources, ...three.resources]).size).toBe(5);
  });

  test("finds what is free among slots that others hold", async () => {
    const { time, redlock, masters } = virtualSetting(3);
    for (const index of [0, 2, 3]) for (const master of masters) master.put(`{api}:slot:${index}`, "rival");
    const semaphore = new Semaphore(redlock, "api", 5);
    const both = await time.run(semaphore.tryAcquire(1000, { permits: 2 }));
    expect([...both!.resources].sort()).toEqual(["{api}:slot:1", "{api}:slot:4"]);
  });

  test("a slot that each half of the masters has granted to another client is taken", async () => {
    const { time, redlock, masters } = virtualSetting(3);
    for (const [index, master] of masters.entries()) master.put("{api}:slot:0", `rival ${index}`);
    const semaphore = new Semaphore(redlock, "api", 1);
    expect(await time.run(semaphore.tryAcquire(1000))).toBeNull();
  });

  test("without a quorum rejects, after one slot", async () => {
    const { time, redlock, nodes } = virtualSetting(3);
    for (const node of nodes.slice(1)) node.cut();
    const semaphore = new Semaphore(redlock, "api", 5);
    const { error } = await time.measure(semaphore.tryAcquire(1000));
    expect(error).toMatchObject({ code: "NO_QUORUM" });
    expect(nodes[0]!.kinds.filter((kind) => kind === "vote")).toHaveLength(1);
  });
});

describe("acquire", () => {
  test("takes a free slot at once, without the admission lock", async () => {
    const { time, redlock, nodes } = virtualSetting(3, patient);
    const semaphore = new Semaphore(redlock, "api", 5);
    await time.run(semaphore.acquire(1000));
    expect(nodes[0]!.kinds).toEqual(["vote"]);
  });

  test("waits for whichever slot is freed first, and leaves no key but its own", async () => {
    const setting = virtualSetting(3, patient);
    const { time, redlock } = setting;
    const semaphore = new Semaphore(redlock, "api", 3);
    const held = [];
    for (let count = 0; count < 3; count += 1) held.push(await time.run(semaphore.acquire(30_000)));
    const waiting = semaphore.acquire(30_000);
    await time.advance(500);
    void held[2]!.release();
    const granted = await time.run(waiting);
    expect(granted.resources).toEqual(held[2]!.resources);
    await time.advance(1000);
    expect(taken(setting, 3)).toHaveLength(3);
    expect(setting.masters[0]!.owner("{api}:admission")).toBeUndefined();
  });

  test("two slots released at once: the second grant is released, and the next waiter has it", async () => {
    const setting = virtualSetting(3, patient);
    const { time, redlock, masters } = setting;
    for (const index of [0, 1]) for (const master of masters) master.put(`{api}:slot:${index}`, "rival", 300);
    const semaphore = new Semaphore(redlock, "api", 2);
    const first = await time.run(semaphore.acquire(30_000));
    await time.advance(500);
    expect(taken(setting, 2)).toHaveLength(1);
    const second = await time.run(semaphore.acquire(30_000));
    expect(second.resources).not.toEqual(first.resources);
  });

  test("those who wait come in the order in which they came", async () => {
    const { time, redlock } = virtualSetting(3, patient);
    const semaphore = new Semaphore(redlock, "api", 1);
    const holder = await time.run(semaphore.acquire(60_000));
    const order: number[] = [];
    const begun = [];
    for (let index = 0; index < 2; index += 1) {
      begun.push(semaphore.using(1000, () => void order.push(index)));
      await time.advance(1000);
    }
    await time.run(holder.release());
    await time.run(Promise.all(begun));
    expect(order).toEqual([0, 1]);
  });

  test("of all who wait, one at a time asks for the slots", async () => {
    const { time, redlock, masters } = virtualSetting(3, patient);
    await time.run(new Semaphore(redlock, "api", 1).acquire(60_000));
    const [first, second] = [new VirtualClient(masters, patient, 7), new VirtualClient(masters, patient, 8)];
    for (const client of [first, second]) {
      new Semaphore(client.redlock, "api", 1).acquire(60_000, { waitTimeout: 5000 }).catch(() => {});
      await time.advance(300);
    }
    const before = [asked(first), asked(second)];
    await time.advance(1000);
    expect(asked(first)).toBeGreaterThan(before[0]!);
    expect(asked(second)).toBe(before[1]);
  });

  test("several permits: gathers them as they are freed, kept extended, into one lock", async () => {
    const setting = virtualSetting(3, patient);
    const { time, redlock } = setting;
    const semaphore = new Semaphore(redlock, "api", 3);
    const held = [];
    for (let count = 0; count < 3; count += 1) held.push(await time.run(semaphore.acquire(60_000)));
    const waiting = semaphore.acquire(1000, { permits: 2 });
    await time.advance(500);
    await time.run(held[0]!.release());
    // Longer than the ttl: what has been gathered is kept from newcomers.
    await time.advance(5000);
    expect(taken(setting, 3)).toHaveLength(3);
    await time.run(held[1]!.release());
    const granted = await time.run(waiting);
    expect([...granted.resources].sort()).toEqual([...held[0]!.resources, ...held[1]!.resources].sort());
    expect(setting.masters[0]!.owner(granted.resources[0]!)).toBe(granted.value);
    expect(setting.masters[0]!.owner(granted.resources[1]!)).toBe(granted.value);
  });

  test("gives up in time with what it is about, and leaves nothing behind", async () => {
    const setting = virtualSetting(3, patient);
    const { time, redlock } = setting;
    const semaphore = new Semaphore(redlock, "api", 2);
    const holder = await time.run(semaphore.acquire(60_000));
    const { took, error } = await time.measure(semaphore.acquire(60_000, { permits: 2, waitTimeout: 2000 }));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(error).toMatchObject({ resource: "api" });
    expect((error as ResourceLockedError).remaining).toBeGreaterThan(50_000);
    expect(took).toBeGreaterThanOrEqual(2000);
    expect(took).toBeLessThan(2600);
    await time.advance(100);
    expect(taken(setting, 2)).toEqual([Number(holder.resources[0]!.at(-1))]);
    expect(setting.masters[0]!.owner("{api}:admission")).toBeUndefined();
  });

  test("behind another waiter, the error is about the permits and not about the admission lock", async () => {
    const { time, redlock } = virtualSetting(3, patient);
    const semaphore = new Semaphore(redlock, "api", 1);
    await time.run(semaphore.acquire(60_000));
    const other = new Semaphore(redlock, "api", 1);
    const first = semaphore.acquire(60_000);
    first.catch(() => {});
    await time.advance(100);
    const { error } = await time.measure(other.acquire(60_000, { waitTimeout: 1000 }));
    expect(error).toMatchObject({ code: "RESOURCE_LOCKED", resource: "api" });
    expect((error as ResourceLockedError).remaining).toBeGreaterThan(50_000);
  });

  test("each refusal is a new error, with what is left now, and behind others no command", async () => {
    const { time, redlock, nodes } = virtualSetting(3, patient);
    const semaphore = new Semaphore(redlock, "api", 1);
    const holder = await time.run(semaphore.acquire(10_000));
    const refusedAfter = async (waitTimeout: number) => {
      const { error } = await time.measure(semaphore.acquire(1000, { waitTimeout }));
      expect(error).toMatchObject({ code: "RESOURCE_LOCKED", resource: "api" });
      const { remaining } = error as ResourceLockedError;
      expect(Math.abs(remaining - holder.remaining())).toBeLessThan(300);
      return error as ResourceLockedError;
    };
    // On its own it looks itself; in line for two seconds it does not tell of the time before.
    await refusedAfter(0);
    await refusedAfter(2000);
    const first = semaphore.acquire(1000).catch(() => {});
    await time.advance(1500);
    const sent = nodes[0]!.sent.length;
    const [one, another] = [await refusedAfter(0), await refusedAfter(0)];
    expect(nodes[0]!.sent.length).toBe(sent);
    expect(one).not.toBe(another);
    await time.advance(1000);
    expect(await refusedAfter(500)).not.toBe(one);
    await time.run(holder.release());
    await time.run(first);
  });

  test("behind others, a permit granted meanwhile counts in the error", async () => {
    const { time, redlock } = virtualSetting(3, patient);
    const semaphore = new Semaphore(redlock, "api", 1);
    const holder = await time.run(semaphore.acquire(10_000));
    const first = semaphore.acquire(60_000);
    const second = semaphore.acquire(1000).catch(() => {});
    await time.advance(1500);
    await time.run(holder.release());
    const granted = await time.run(first);
    const { error } = await time.measure(semaphore.acquire(1000, { waitTimeout: 0 }));
    expect((error as ResourceLockedError).remaining).toBeGreaterThan(50_000);
    await time.run(granted.release());
    await time.run(second);
  });

  test("what is known of permits that were extended is asked for again", async () => {
    const { time, redlock } = virtualSetting(3, patient);
    const semaphore = new Semaphore(redlock, "api", 1);
    const holder = await time.run(semaphore.acquire(1000));
    const first = semaphore.acquire(1000).catch(() => {});
    await time.advance(500);
    await time.run(holder.extend(30_000));
    await time.advance(2000);
    const { error } = await time.measure(semaphore.acquire(1000, { waitTimeout: 0 }));
    expect((error as ResourceLockedError).remaining).toBeGreaterThan(0);
    await time.run(holder.release());
    await time.run(first);
  });

  test.each([0, 300])(
    "a call that waits for itself for %i ms gets an error that says so",
    async (waitTimeout) => {
      const { time, redlock, masters } = virtualSetting(3, { ...patient, reentrant: true });
      const semaphore = new Semaphore(redlock, "api", 2);
      const options = { permits: 2, waitTimeout };
      const nested = semaphore.using(5000, () => semaphore.acquire(5000, options));
      await expect(time.run(nested)).rejects.toThrow(
        /^"api" is locked by this same Redlock, which has 1 of 2 permits \(.*waits for itself/,
      );
      // Not where others have them.
      await time.advance(100);
      for (const index of [0, 1])
        for (const master of masters) master.put(`{api}:slot:${index}`, "rival", 9000);
      await expect(time.run(semaphore.acquire(5000, options))).rejects.toThrow(
        '"api" is locked by someone else, for at most',
      );
    },
  );

  test("retryCount and retryDelay bound the waiting, where no waitTimeout does", async () => {
    const { time, redlock } = virtualSetting(3, { retryCount: 0 });
    const semaphore = new Semaphore(redlock, "api", 1);
    await time.run(semaphore.acquire(60_000));
    const { took, error } = await time.measure(semaphore.acquire(60_000));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(took).toBeLessThan(20);
    const patient = await time.measure(semaphore.acquire(60_000, { retryCount: 5, retryDelay: 100 }));
    expect(patient.took).toBeGreaterThanOrEqual(500);
    expect(patient.took).toBeLessThan(1000);
  });

  test("aborted while it looks for a free slot, it rejects at once and has none", async () => {
    const setting = virtualSetting(3, patient);
    const { time, redlock, nodes } = setting;
    for (const node of nodes) node.toMaster = 20;
    const controller = new AbortController();
    const looking = new Semaphore(redlock, "api", 2).acquire(1000, { signal: controller.signal });
    looking.catch(() => {});
    await time.advance(10);
    controller.abort();
    const { error } = await time.measure(looking);
    expect(error).toBeInstanceOf(AbortError);
    await time.advance(100);
    expect(taken(setting, 2)).toEqual([]);
  });

  test("time that runs out between two looks at the clock is time that is over", async () => {
    for (let waitTimeout = 0; waitTimeout < 400; waitTimeout += 10) {
      const { time, redlock, machine } = virtualSetting(3, patient);
      const semaphore = new Semaphore(redlock, "api", 1);
      await time.run(semaphore.acquire(60_000));
      let readings = 0;
      const monotonic = machine.monotonic.bind(machine);
      machine.monotonic = () => {
        readings += 1;
        return monotonic() + 20 * readings;
      };
      const { error } = await time.measure(semaphore.acquire(60_000, { waitTimeout }));
      expect(error).toBeInstanceOf(ExecutionError);
    }
  });

  test.each([1, 2])(
    "aborted while it waits for %i, it rejects and leaves nothing behind",
    async (permits) => {
      const setting = virtualSetting(3, patient);
      const { time, redlock } = setting;
      const semaphore = new Semaphore(redlock, "api", 2);
      await time.run(semaphore.acquire(60_000));
      const other = await time.run(semaphore.acquire(60_000));
      const controller = new AbortController();
      const waiting = semaphore.acquire(60_000, { permits, signal: controller.signal });
      waiting.catch(() => {});
      await time.advance(200);
      if (permits === 2) await time.run(other.release());
      await time.advance(200);
      const reason = new Error("enough");
      controller.abort(reason);
      const { error } = await time.measure(waiting);
      expect(error).toBeInstanceOf(AbortError);
      expect(error).toMatchObject({ cause: reason });
      await time.advance(100);
      expect(taken(setting, 2)).toHaveLength(3 - permits);
      expect(setting.masters[0]!.owner("{api}:admission")).toBeUndefined();
    },
  );

  test("a lost admission lock is waited for again", async () => {
    const { time, redlock, machine } = virtualSetting(3, patient);
    const semaphore = new Semaphore(redlock, "api", 1);
    const holder = await time.run(semaphore.acquire(60_000));
    const waiting = semaphore.acquire(60_000);
    waiting.catch(() => {});
    await time.advance(200);
    machine.block(5000);
    await time.advance(6000);
    await time.run(holder.release());
    expect(await time.run(waiting)).toBeInstanceOf(Lock);
  });

  test("distant masters have as long to answer for the admission lock as for the permits", async () => {
    const { time, redlock, nodes } = virtualSetting(3, patient);
    // 400 ms of round trip: within the nodeTimeout of this ttl, 500 ms, and not of one of 3 s.
    for (const node of nodes) Object.assign(node, { toMaster: 200, fromMaster: 200 });
    const semaphore = new Semaphore(redlock, "api", 1);
    const holder = await time.run(semaphore.acquire(60_000));
    const waiting = semaphore.acquire(60_000);
    await time.advance(3000);
    await time.run(holder.release());
    expect(await time.run(waiting, 10_000)).toBeInstanceOf(Lock);
  });

  test.each([1, 2])("a call for %i permits that backs off delays no other waiter", async (permits) => {
    const { time, redlock, masters } = virtualSetting(3, patient);
    const semaphore = new Semaphore(redlock, "api", permits);
    const holder = await time.run(semaphore.acquire(60_000, { permits }));
    // It asks often while others have the permit, and pauses for long once it was granted too late.
    const owner = (): string => masters[0]!.owner("{api}:slot:0") ?? holder.value;
    const backoff = (): number => (owner() === holder.value ? 20 : 20_000);
    // No permit has that much left: a round trip is over, and the drift.
    const failing = semaphore.acquire(1000, {
      permits,
      minimumValidity: 987,
      backoff,
      waitTimeout: 3_000,
    });
    failing.catch(() => {});
    await time.advance(200);
    const granted: Lock[] = [];
    void semaphore.acquire(1000).then((lock) => granted.push(lock));
    await time.advance(200);
    await time.run(holder.release());
    await time.advance(500);
    expect(granted).toHaveLength(1);
    await expect(time.run(failing)).rejects.toMatchObject({ code: "NO_QUORUM" });
  });

  test("a crash of the first waiter delays the others at most by the ttl of the admission lock", async () => {
    const { time, redlock, masters } = virtualSetting(3, { ...patient, nodeTimeout: 50 });
    const semaphore = new Semaphore(redlock, "api", 1);
    const holder = await time.run(semaphore.acquire(60_000));
    const dead = new VirtualClient(masters, { ...patient, nodeTimeout: 50 }, 7);
    void new Semaphore(dead.redlock, "api", 1).acquire(60_000).catch(() => {});
    await time.advance(200);
    dead.machine.block(10_000_000);
    const waiting = semaphore.acquire(60_000);
    await time.advance(100);
    await time.run(holder.release());
    const { took, error } = await time.measure(waiting);
    expect(error).toBeUndefined();
    expect(took).toBeLessThan(4000);
  });

  test("ends with quit", async () => {
    const { time, redlock } = virtualSetting(3, patient);
    const semaphore = new Semaphore(redlock, "api", 1);
    await time.run(semaphore.acquire(60_000));
    const waiting = semaphore.acquire(60_000);
    waiting.catch(() => {});
    await time.advance(200);
    await time.run(redlock.quit());
    await expect(waiting).rejects.toThrow(ClosedError);
  });

  test("waits on where no quorum answers at first", async () => {
    const { time, redlock, nodes } = virtualSetting(3, patient);
    for (const node of nodes.slice(1)) node.cut();
    const semaphore = new Semaphore(redlock, "api", 2);
    const waiting = semaphore.acquire(1000);
    await time.advance(300);
    for (const node of nodes.slice(1)) node.restore();
    expect(await time.run(waiting)).toBeInstanceOf(Lock);
    for (const node of nodes.slice(1)) node.cut();
    const { error } = await time.measure(semaphore.acquire(1000, { waitTimeout: 300 }));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).toMatchObject({ code: "NO_QUORUM" });
  });
});

describe("using", () => {
  test("keeps its permits extended while the routine runs, then gives them back", async () => {
    const setting = virtualSetting(3, patient);
    const { time, redlock } = setting;
    const semaphore = new Semaphore(redlock, "api", 3);
    const using = semaphore.using(1000, { permits: 2 }, async (signal, lock) => {
      await new Promise((resolve) => setting.machine.setTimer(() => resolve(undefined), 5000));
      expect(signal.aborted).toBe(false);
      expect(taken(setting, 3)).toHaveLength(2);
      return lock.resources.length;
    });
    expect(await time.run(using)).toBe(2);
    await time.advance(10);
    expect(taken(setting, 3)).toHaveLength(0);
  });
});
