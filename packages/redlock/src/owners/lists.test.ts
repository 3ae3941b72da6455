import { expect, test } from "vitest";
import { Lists } from "./lists.ts";
import type { ListedMaster } from "./membership.ts";
import type { OwnerRecord } from "./owner-record.ts";

// PROTOCOL 1.13.

const masters = (names: string): ListedMaster[] =>
  names.split("").map((name) => ({ name, ids: [`id of ${name}`] }));
const own = masters("abc");

const named = (names: string, ids: readonly string[]): ListedMaster[] =>
  names.split("").map((name, at) => ({ name, ids: [ids[at]!] }));

function recordOf(tag: string, list: readonly ListedMaster[], writes = 1): OwnerRecord {
  const life = { writes, ttl: 30_000, hasQuit: false };
  return { tag, name: tag, host: "h", pid: 1, version: "", ...life, masters: list, locks: [] };
}

/** Turns in which masters name the owners that are `alive`, 50 at a time; returns the tags that are reported in each. */
class Turns {
  readonly lists = new Lists();
  readonly alive = new Map<string, readonly ListedMaster[]>();
  own: readonly ListedMaster[] = own;
  /** The places of the masters that have the records. */
  foundOn: readonly number[] = [];
  #turn = 0;

  next(): readonly string[] {
    this.#turn += 1;
    const tags = [...this.alive.keys()];
    const part = 50 * (this.#turn % Math.ceil(tags.length / 50));
    for (const tag of tags.slice(part, part + 50)) this.lists.hear(tag, this.#turn, tags.length);
    for (const tag of this.lists.unread(this.#turn)) {
      const list = this.alive.get(tag);
      if (list) this.lists.learn(recordOf(tag, list, this.#turn));
    }
    return this.lists.suspects(this.own).filter((tag) => {
      const list = this.alive.get(tag);
      if (!list) this.lists.forget(tag);
      const isFoundOn = (place: number) => this.foundOn.includes(place);
      return list && this.lists.judge(this.own, recordOf(tag, list, this.#turn), isFoundOn);
    });
  }

  /** The reports in so many turns. */
  all(turns: number): readonly string[] {
    return Array.from({ length: turns }, () => this.next()).flat();
  }
}

test("a list is reported once for as long as it is in use, and again after it had gone", () => {
  const turns = new Turns();
  turns.alive.set("one", masters("abcde"));
  expect(turns.next()).toEqual(["one"]);
  turns.alive.set("two", masters("abcde"));
  expect(turns.all(20)).toEqual([]);
  turns.alive.delete("one");
  expect(turns.all(20)).toEqual([]);
  turns.alive.set("three", masters("abcdef"));
  expect(turns.next()).toEqual(["three"]);
  turns.alive.clear();
  expect(turns.all(20)).toEqual([]);
  turns.alive.set("four", masters("abcde"));
  expect(turns.next()).toEqual(["four"]);
});

test("a list is reported once among thousands of owners, each of which is named in one turn of a hundred", () => {
  const turns = new Turns();
  for (let owner = 0; owner < 5000; owner += 1)
    turns.alive.set(`${owner}`, owner === 4321 ? masters("abcde") : own);
  expect(turns.all(500)).toEqual(["4321"]);
});

test("no more owners are kept than a bound, and those that are gone make room", () => {
  const turns = new Turns();
  for (let owner = 0; owner < 10_000; owner += 1) turns.lists.hear(`${owner}`, 1, 50);
  turns.lists.hear("late", 1, 50);
  turns.lists.learn(recordOf("late", masters("abcde")));
  expect(turns.lists.suspects(own)).toEqual([]);
  turns.lists.unread(6);
  turns.lists.hear("late", 6, 50);
  turns.lists.learn(recordOf("late", masters("abcde")));
  expect(turns.lists.suspects(own)).toEqual(["late"]);
});

test("a list that differs in names is no fault while an id is unknown", () => {
  const turns = new Turns();
  turns.alive.set("one", [...masters("ab"), { name: "x", ids: [] }]);
  expect(turns.all(20)).toEqual([]);
  turns.own = [...masters("ab"), { name: "c", ids: [] }];
  turns.alive.set("one", masters("abx"));
  expect(turns.all(20)).toEqual([]);
  // The master c has the record of the client that names it x.
  turns.own = own;
  turns.foundOn = [2];
  expect(turns.all(20)).toEqual([]);
});

test("a list in which one of three masters is replaced is reported once two more writes confirm the ids", () => {
  const turns = new Turns();
  turns.alive.set("one", masters("abx"));
  expect([turns.next(), turns.next(), turns.next()]).toEqual([[], [], ["one"]]);
  expect(turns.all(20)).toEqual([]);
});

test("a rolling restart is no fault between clients that name the masters differently", () => {
  const turns = new Turns();
  const ids = ["1", "2", "3"];
  for (const restarted of [0, 1, 2, 0, 1, 2]) {
    const before = [...ids];
    ids[restarted] += "'";
    turns.own = named("abc", ids);
    // The record of the other client has the old id, and once more if that client has not noticed. Then the next restarts.
    turns.alive.set("one", named("xyz", before));
    expect(turns.all(2)).toEqual([]);
  }
});
