import { expect, test } from "vitest";
import { Dials } from "./dials.ts";

// PROTOCOL 2.18.

test("a dial counts once, however often it is seen", () => {
  const dials = new Dials();
  for (const isDialed of [false, true, true, false, true]) dials.see(isDialed);
  expect(dials.begun).toBe(2);
});

test("a client is connected by its latest dial, and only once it is greeted", () => {
  const dials = new Dials();
  dials.see(true);
  expect(dials.connected).toBe(0);
  dials.ready();
  expect(dials.connected).toBe(1);
  dials.redial();
  expect([dials.begun, dials.connected]).toEqual([2, 1]);
  dials.ready();
  expect(dials.connected).toBe(2);
});

test("a dial that lasts a second counts as one that began at its greeting", () => {
  let now = 0;
  const dials = new Dials(() => now);
  dials.see(true);
  now = 999;
  dials.ready();
  expect([dials.begun, dials.connected]).toEqual([1, 1]);
  dials.redial();
  now += 1000;
  dials.ready();
  expect([dials.begun, dials.connected]).toEqual([3, 3]);
});

test("a greeting shows a dial that was not seen", () => {
  const dials = new Dials();
  dials.ready();
  expect([dials.begun, dials.connected]).toEqual([1, 1]);
});
