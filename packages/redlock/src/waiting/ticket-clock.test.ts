import { expect, test } from "vitest";
import type { Context } from "../protocol/context.ts";
import type { Fault, LockNode } from "../protocol/node.ts";
import { MasterClock } from "../redis/master-clock.ts";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { TicketClock } from "./ticket-clock.ts";

// PROTOCOL 7.2.

interface Setting {
  readonly time: VirtualTime;
  readonly machine: VirtualMachine;
  readonly clock: TicketClock;
  /** The readings of the masters' clocks. */
  readonly clocks: readonly MasterClock[];
  /** The masters' clocks, ms ahead of ours; `undefined` for one that may not be asked, `null` for one that hangs. */
  readonly masters: (number | undefined | null)[];
  /** The time from a question to its answer, ms. The master looks at its clock after the first of them. */
  roundTrip: number;
}

const refused: Fault = { is: "fault", error: new Error("NOPERM") as Fault["error"], sent: true };

function setting(...masters: (number | undefined | null)[]): Setting {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const now = { time, machine, masters, roundTrip: 2 };
  const clocks = masters.map(() => new MasterClock(machine));
  const nodes = clocks.map((clock, index) => {
    const ask: LockNode["ask"] = (_, place, sink) => {
      const ahead = masters[index];
      if (ahead === null) return;
      const [sent, wall] = [clock.now(), machine.wall()];
      const answer = () => (ahead === undefined ? refused : clock.observe(sent, wall + 1 + ahead));
      machine.receive(() => sink.answered(place, answer()), now.roundTrip);
    };
    return { clock, ask } as unknown as LockNode;
  });
  const clock = new TicketClock({ nodes, runtime: machine } as unknown as Context, 0.01);
  return Object.assign(now, { clock, clocks });
}

/** How far a ticket of now is ahead of our wall clock, ms. */
function ahead({ clock, machine }: Setting): number {
  return Math.round(clock.now() / 1000 - machine.wall());
}

test.each([
  ["the median", [-7000, 10_000, 20_000], 10_000],
  ["the median, whatever one of them says", [9000, 10_000, 9_000_000_000], 10_000],
  [
    "that of a quorum, if one says a time that no ticket can have",
    [10_000, 10_500, 9_000_000_000_000],
    10_000,
  ],
  ["the lower one of two", [10_000, 10_500], 10_000],
  ["that of a quorum, if one is refused", [10_000, undefined, 10_500], 10_000],
  ["that of a quorum, if one hangs", [10_000, 10_500, null], 10_000],
  ["our own, if too few tell theirs", [10_000, undefined, undefined], 0],
])("the time is %s", async (_, masters, expected) => {
  const now = setting(...masters);
  await now.time.run(now.clock.read());
  expect(ahead(now)).toBe(expected);
  expect(now.clock.mustAsk).toBe(false);
});

test("the masters are not asked where their clocks were read when the connections were made", async () => {
  const now = setting(10_000, 10_000, 10_000);
  expect(now.clock.mustAsk).toBe(true);
  for (const clock of now.clocks.slice(1)) clock.observe(clock.now(), now.machine.wall() + 10_000);
  expect([now.clock.mustAsk, now.clock.isOld]).toEqual([false, false]);
  expect(ahead(now)).toBe(10_000);
  await now.time.advance(10_001);
  expect([now.clock.mustAsk, now.clock.isOld]).toEqual([false, true]);
});

test("a step of our wall clock changes no ticket, and asks for the time again", async () => {
  const now = setting(10_000, 10_000, 10_000);
  await now.time.run(now.clock.read());
  const before = now.clock.now();
  now.machine.suspend(0);
  expect(now.clock.now()).toBe(before);
  now.machine.suspend(5000);
  expect(now.clock.mustAsk).toBe(true);
  await now.time.run(now.clock.read());
  // The monotonic clock stood still meanwhile.
  expect(ahead(now)).toBe(10_000);
});

test("the time is old after 10 s, and a later reading that says the same changes nothing", async () => {
  const now = setting(10_000, 10_000, 10_000);
  await now.time.run(now.clock.read());
  const offset = now.clock.ticketOf(0);
  await now.time.advance(10_001);
  expect(now.clock.isOld).toBe(true);
  await now.time.run(now.clock.read());
  expect(now.clock.isOld).toBe(false);
  expect(now.clock.ticketOf(0)).toBe(offset);
  now.masters.fill(12_000);
  await now.time.run(now.clock.read());
  expect(ahead(now)).toBe(12_000);
});

test("a reading by too few keeps the one before, unless a clock has stepped or a connection changed", async () => {
  const now = setting(10_000, 10_000, 10_000);
  await now.time.run(now.clock.read());
  now.masters.fill(undefined);
  await now.time.run(now.clock.read());
  expect(ahead(now)).toBe(10_000);
  for (const clock of now.clocks) clock.forget();
  expect([now.clock.mustAsk, now.clock.isOld]).toEqual([false, false]);
  await now.time.run(now.clock.read());
  expect(now.clock.isAlone).toBe(true);
  expect(ahead(now)).toBe(0);
});

test("a reading that too few masters answer does not prevent the next", async () => {
  const now = setting(10_000, null, null);
  void now.clock.read();
  await now.time.advance(1000);
  expect(now.clock.isAlone).toBe(true);
  expect(now.clock.isOld).toBe(true);
  now.masters.fill(10_000);
  await now.time.run(now.clock.read());
  expect(ahead(now)).toBe(10_000);
});

test.each([
  ["our own time", undefined],
  ["the masters' time", 1000],
])("%s is behind no ticket that was named", async (_, ofMasters) => {
  const now = setting(ofMasters, ofMasters, ofMasters);
  await now.time.run(now.clock.read());
  const named = now.clock.now() + 10_000_000;
  expect(now.clock.observe(named)).toBe(true);
  expect(ahead(now)).toBe((ofMasters ?? 0) + 10_000);
  expect(now.clock.observe(named - 5_000_000)).toBe(false);
  expect(ahead(now)).toBe((ofMasters ?? 0) + 10_000);
  await now.time.run(now.clock.read());
  expect(ahead(now)).toBe((ofMasters ?? 0) + 10_000);
});

test("a clock that is as fast as clocks may be runs ahead of the masters' no further than between two readings", async () => {
  const now = setting(0, 0, 0);
  await now.time.run(now.clock.read());
  for (let read = 1; read <= 10; read += 1) {
    const named = now.clock.now() + 1000;
    now.clock.observe(named);
    await now.time.advance(10_000);
    now.masters.fill(-100 * read);
    await now.time.run(now.clock.read());
    expect(now.clock.now()).toBeGreaterThan(named);
    expect(ahead(now)).toBeLessThanOrEqual(-100 * read + 100);
  }
});

test("a ticket that is ahead of the masters' time by less than their readings are wrong does not show that it is behind", async () => {
  const now = setting(1000, 1000, 1000);
  await now.time.run(now.clock.read());
  // A reading takes 2 ms, and our clock is exact to 1 ms.
  expect(now.clock.observe(now.clock.now() + 3500)).toBe(false);
  expect(now.clock.observe(now.clock.now() + 4500)).toBe(true);
});

test("a ticket of a time that no clock shows is not taken for the time", async () => {
  const now = setting(1000, 1000, 1000);
  await now.time.run(now.clock.read());
  expect(now.clock.observe(2 ** 52)).toBe(false);
  expect(ahead(now)).toBe(1000);
});
