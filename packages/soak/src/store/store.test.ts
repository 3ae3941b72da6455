import { expect, test } from "vitest";
import { Store } from "./store.ts";

const draft = { hold: "h", key: "k", readAt: 0, base: 0, value: 1 };

test("an overwritten update is lost, and counted", () => {
  const store = new Store(() => 0);
  store.write(draft, undefined);
  store.write({ ...draft, base: 1, value: 2 }, undefined);
  expect(store.lost).toBe(0);
  store.write(draft, undefined);
  expect(store.read("k")).toBe(1);
  expect(store.lost).toBe(2);
});

test("a write is accepted before its writer's deadline, and refused from then on", () => {
  let time = 9;
  const store = new Store(() => time);
  expect(store.write(draft, 10)).toMatchObject({ accepted: true, at: 9 });
  time = 10;
  expect(store.write({ ...draft, base: 1, value: 2 }, 10)).toMatchObject({ accepted: false, at: 10 });
  expect(store.read("k")).toBe(1);
  expect(store.accepted).toBe(1);
});
