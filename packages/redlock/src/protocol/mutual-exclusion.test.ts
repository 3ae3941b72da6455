import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AbortError } from "../errors.ts";
import type { Lock } from "../holding/lock.ts";
import { VirtualClient, type VirtualMachine, VirtualMaster, VirtualTime } from "../virtual-time.test.ts";

// PROTOCOL 1.9, 1.10.

// Mutual exclusion itself, against every combination of faults: several clients on machines and masters that stall,
// are suspended, lose connections and disagree about how fast time passes. No master forgets a key before its time.

const ttl = 300;
const driftFactor = 0.05;
const count = fc.integer({ min: 1, max: 5 });

const happening = fc.record({
  what: fc.constantFrom(
    "hang",
    "resume",
    "cut",
    "restore",
    "slow",
    "fast",
    "mute",
    "heard",
    "suspend",
    "block",
    "forward",
    "back",
  ),
  client: fc.nat(2),
  master: fc.nat(4),
  duration: fc.integer({ min: 1, max: 2 * ttl }),
  after: fc.integer({ min: 1, max: 60 }),
});
/** A holder's use of its lock: the number of extensions, the time between them, and whether it releases the lock. */
const habit = fc.record({
  extensions: fc.nat(3),
  pause: fc.integer({ min: 1, max: ttl }),
  ttl: fc.integer({ min: 50, max: ttl }),
  releases: fc.boolean(),
  rates: fc.array(fc.double({ min: -driftFactor / 2, max: driftFactor / 2, noNaN: true }), {
    minLength: 5,
    maxLength: 5,
  }),
});
const world = fc.record({
  count,
  happenings: fc.array(happening, { minLength: 15, maxLength: 50 }),
  habits: fc.array(habit, { minLength: 3, maxLength: 3 }),
});
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

function populate({ count, habits }: World) {
  const time = new VirtualTime();
  const masters = Array.from({ length: count }, (_, index) => {
    const master = new VirtualMaster(time);
    master.rate = 1 + habits[0]!.rates[index]!;
    return master;
  });
  const options = { driftFactor, retryCount: -1, retryDelay: 20, retryJitter: 10, nodeTimeout: 30 };
  const clients = habits.map((_, index) => new VirtualClient(masters, options, index + 1));
  return { time, clients };
}

/**
 * A step back that cancels a suspension is invisible to the process if no clock was read between the two (PROTOCOL 1.4),
 * whichever came first: so a machine has one of them here. (Where a clock was read, it is seen: see the lease clock's own
 * tests.)
 */
const skewed = new WeakMap<VirtualMachine, string>();

function maySkew(machine: VirtualMachine, what: string): boolean {
  const first = skewed.get(machine) ?? what;
  skewed.set(machine, first);
  return first === what;
}

function happen(
  clients: readonly VirtualClient[],
  { what, client, master, duration }: World["happenings"][number],
): void {
  const { machine, nodes } = clients[client]!;
  const node = nodes[master % nodes.length]!;
  if (what === "hang") node.hang();
  else if (what === "resume") node.resume();
  else if (what === "cut") node.cut();
  else if (what === "restore") node.restore();
  else if (what === "slow") node.toMaster = duration / 5;
  else if (what === "fast") node.toMaster = 1;
  else if (what === "mute") node.mute = true;
  else if (what === "heard") node.mute = false;
  else if (what === "block") machine.block(duration);
  else if (what === "forward") machine.stepWall(duration);
  else if (!maySkew(machine, what)) return;
  else if (what === "back") machine.stepWall(-duration);
  else machine.suspend(duration);
}

async function compete(
  { redlock }: VirtualClient,
  habit: World["habits"][number],
  time: VirtualTime,
  over: AbortSignal,
  granted: Set<Lock>,
): Promise<void> {
  const pause = () => new Promise<void>((resolve) => void time.timers(resolve, habit.pause));
  while (!over.aborted) {
    const lock = await redlock.acquire("r", ttl, { signal: over }).catch((error: unknown) => {
      if (!(error instanceof AbortError)) throw error;
    });
    if (!lock) return;
    granted.add(lock);
    for (let extension = 0; extension < habit.extensions; extension += 1) {
      await pause();
      await redlock.extend(lock, habit.ttl, { retryCount: 2 }).catch(() => {});
    }
    await pause();
    if (habit.releases) await lock.release();
  }
}

test("no two clients hold a lock at the same moment, and every call settles", async () => {
  let grants = 0;
  await fc.assert(
    fc.asyncProperty(world, async (world) => {
      const { time, clients } = populate(world);
      const granted = new Set<Lock>();
      const over = new AbortController();
      const competing = clients.map((client, index) =>
        compete(client, world.habits[index]!, time, over.signal, granted),
      );
      const check = () => {
        const holding = [...granted].filter((lock) => lock.remaining() > 0);
        expect(holding.length).toBeLessThanOrEqual(1);
      };
      for (const each of world.happenings) {
        happen(clients, each);
        for (let passed = 0; passed < each.after; passed += 10) {
          check();
          await time.advance(Math.min(10, each.after - passed));
        }
      }
      check();
      over.abort();
      await time.run(Promise.all(competing), 30_000);
      grants += granted.size;
    }),
    { numRuns: 30 },
  );
  // A test in which no client ever holds a lock would prove nothing.
  expect(grants).toBeGreaterThan(30);
});
