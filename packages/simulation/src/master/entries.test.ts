import { array, assert, boolean, nat, property, tuple } from "fast-check";
import { expect, test } from "vitest";
import { Entries } from "./entries.ts";

const entry = (value: number) => ({ value: String(value), expiresAt: undefined });

test("the content equals that of a map, also after very many deletions", () => {
  const step = tuple(nat(20), boolean());
  assert(
    property(array(step, { maxLength: 60 }), nat(3000), (steps, others) => {
      const entries = new Entries();
      const map = new Map<string, ReturnType<typeof entry>>();
      const set = (key: string, value: number) => {
        entries.set(key, entry(value));
        map.set(key, entry(value));
      };
      const remove = (key: string) => {
        entries.delete(key);
        map.delete(key);
      };
      const takeAll = (from: number) => {
        for (const [index, [key, isSet]] of steps.entries()) {
          if (isSet) set(`${key}`, from + index);
          else remove(`${key}`);
        }
      };
      takeAll(0);
      for (let other = 0; other < others; other += 1) set(`other-${other}`, other);
      for (let other = 0; other < others; other += 1) remove(`other-${other}`);
      expect(new Map(entries.all)).toEqual(map);
      takeAll(100);
      expect(new Map(entries.all)).toEqual(map);
      for (let key = 0; key <= 20; key += 1) expect(entries.get(`${key}`)).toEqual(map.get(`${key}`));
    }),
    { numRuns: 100 },
  );
});
