import { expect, test } from "vitest";
import { alternate, turnOrders } from "./alternate.ts";

test.each([1, 2, 3, 4, 5, 6, 7])(
  "%i contenders: each is equally often at each place and after each other one",
  (count) => {
    const orders = turnOrders(count);
    const places = new Map<string, number>();
    const neighbours = new Map<string, number>();
    for (const order of orders) {
      expect(new Set(order).size).toBe(count);
      for (const [place, contender] of order.entries()) {
        const at = `${contender} at ${place}`;
        places.set(at, (places.get(at) ?? 0) + 1);
        if (place === 0) continue;
        const after = `${contender} after ${order[place - 1]}`;
        neighbours.set(after, (neighbours.get(after) ?? 0) + 1);
      }
    }
    expect(places.size).toBe(count * count);
    expect(new Set(places.values()).size).toBe(1);
    expect(neighbours.size).toBe(count * (count - 1));
    expect(new Set(neighbours.values()).size).toBeLessThanOrEqual(1);
  },
);

test("samples of one pass stand at the same index", async () => {
  const samples = await alternate(["a", "b", "c"], 7, async (contender, pass) => `${contender}${pass}`);
  expect(samples.get("a")).toEqual(["a0", "a1", "a2", "a3", "a4", "a5", "a6"]);
  expect(samples.get("c")?.at(-1)).toBe("c6");
});
