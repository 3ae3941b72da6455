import { describe, expect, test } from "vitest";
import { Cancellation } from "./cancellation.ts";
import { Places } from "./places.ts";
import { settle } from "./virtual-time.test.ts";

describe("places", () => {
  test("are taken as long as there are any", () => {
    const places = new Places(2);
    expect([places.take(), places.take(), places.take()]).toEqual([true, true, false]);
    places.leave();
    expect([places.take(), places.take()]).toEqual([true, false]);
  });

  test("are given to those who wait, in the order of their coming", async () => {
    const places = new Places(1);
    places.take();
    const served: number[] = [];
    for (const who of [1, 2, 3]) void places.wait().then(() => served.push(who));
    places.leave();
    await settle();
    expect(served).toEqual([1]);
    // Not to who comes later: it is taken.
    expect(places.take()).toBe(false);
    places.leave();
    places.leave();
    await settle();
    expect(served).toEqual([1, 2, 3]);
  });

  test("are not waited for any longer than wanted, and who gave up takes none", async () => {
    const places = new Places(1);
    places.take();
    const end = new Cancellation();
    const first = places.wait(new Cancellation(), end);
    const second = places.wait(new Cancellation());
    end.cancel(new Error("enough"));
    expect(await first).toBe(false);
    places.leave();
    expect(await second).toBe(true);
    places.leave();
    expect(places.take()).toBe(true);
  });

  test("that are given to who gives up in the same moment go on to the next", async () => {
    const places = new Places(1);
    places.take();
    const end = new Cancellation();
    const first = places.wait(end);
    const second = places.wait();
    places.leave();
    end.cancel(new Error("enough"));
    expect([await first, await second]).toEqual([false, true]);
  });
});
