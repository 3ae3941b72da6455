import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { pictureOf } from "../pictures/picture-of.ts";
import { record } from "../pictures/recording.ts";
import { everyRule } from "../pictures/rules.ts";
import { sentenceAt, tellRun } from "../pictures/telling.ts";
import { validPlan } from "../plan/validate.ts";
import { type Action, actions, faultOf, type Knobs, knobsOf, ranges, turned, withFault } from "./changes.ts";
import { hashOf, planOf, replayFileOf, stateOf } from "./link.ts";
import { stories } from "./stories.ts";

const clock = stories.find(({ name }) => name === "clock")!;

describe("a link", () => {
  test("to a story has its seed, its option, the subject and the moment", async () => {
    const state = {
      run: { story: "crash", seed: 7, isWith: false },
      subject: "redlock-5",
      at: 312.25,
    } as const;
    const hash = await hashOf(state);
    expect(hash).toBe("story=crash&seed=7&without&subject=redlock-5&at=312.25");
    expect(await stateOf(hash)).toEqual(state);
  });

  test("to any plan has the plan, and is replayed as a file", async () => {
    const plan = withFault(clock.plan(3, true), { at: 100.5, kind: "flush", masters: [2] });
    const hash = await hashOf({ run: { plan } });
    expect(hash).toMatch(/^plan=[\w-]+$/);
    expect(await replayFileOf(`https://lab.example/lab#${hash}&subject=redlock-5`)).toEqual({
      version: 1,
      plan,
      subject: "redlock-5",
    });
  });

  test.each([
    ["story=unknown", /no story "unknown": choose from pause, clock/],
    ["plan=AAAA", /plan in the link cannot be read/],
    ["story=clock&seed=-1", /seed must be a whole number/],
    ["story=clock&at=soon", /at must be a time in ms/],
    ["story=clock&subject=zookeeper", /no subject "zookeeper"/],
  ])("%s is refused with the reason", async (hash, message) => {
    await expect(stateOf(hash)).rejects.toThrow(message);
  });
});

describe("a plan of the lab", () => {
  test.each(stories)("$name: each knob at both ends of its range gives a valid plan", ({ plan }) => {
    for (const knob of Object.keys(ranges) as (keyof Knobs)[])
      for (const end of ranges[knob].slice(0, 2)) {
        const other = turned(plan(1, true), knob, end);
        expect(validPlan(JSON.parse(JSON.stringify(other)))).toEqual(other);
        expect(knobsOf(other)[knob]).toBe(end);
      }
  });

  test("what is done by hand is a fault, and changes nothing that came before it", async () => {
    const plan = planOf({ run: { story: "split", seed: 1, isWith: true } });
    const before = (await record(plan)).events;
    for (const action of Object.keys(actions) as Action[]) {
      const fault = faultOf(action, { master: 1 }, 40, plan)!;
      const changed = withFault(plan, fault);
      expect(validPlan(JSON.parse(JSON.stringify(changed)))).toEqual(changed);
      const { events } = await record(changed);
      const past = (all: typeof events) => all.filter(({ at }) => at < 40_000);
      expect(past(events)).toEqual(past(before));
      expect(past(events).length).toBeGreaterThan(50);
      expect(events.filter(({ actor, at }) => actor === "fault" && at === 40_000)).toHaveLength(1);
    }
    expect(faultOf("fill", { client: 0 }, 40, plan)).toBeUndefined();
    expect(faultOf("kill", { client: 0 }, 40, plan)).toEqual({ at: 40, kind: "kill", clients: [0] });
  });
});

describe("the sentences of a run", () => {
  test("say which master voted twice, and why, as long as there are two holders", async () => {
    const picture = pictureOf(await record(clock.plan(1, false)));
    const [overlap] = picture.overlaps;
    const sentence = sentenceAt(tellRun(picture), overlap!.until - 1)!;
    expect(sentence.isDanger).toBe(true);
    expect(sentence.text).toBe(
      "Two holders: client 1 gets the lock, by the votes of C, D, E, while client 0 holds it by A, B, C. " +
        "C voted twice: wall clock set by +20,000 ms: master C, and by its own clock the first key has expired.",
    );
    expect(sentenceAt(tellRun(picture), overlap!.until + 1)!.text).not.toContain("Two holders");
  });

  test("tell of a late write that the fencing token turned away", async () => {
    const pause = stories.find(({ name }) => name === "pause")!;
    const fenced = pictureOf(await record(pause.plan(1, true)));
    const texts = tellRun(fenced).map(({ text }) => text);
    expect(texts.filter((text) => text.includes("the resource turns it away"))).toHaveLength(1);
    const unfenced = pictureOf(await record(pause.plan(1, false)));
    expect(tellRun(unfenced).some(({ text }) => text.startsWith("A stale write"))).toBe(true);
  });
});

test("each rule that the viewer names is a rule of the protocol, with its words and a file that serves it", () => {
  const root = new URL("../../../../", import.meta.url);
  const protocol = readFileSync(new URL("docs/protocol.md", root), "utf8").replaceAll("\n", " ");
  const missing = everyRule.filter(({ number, title }) => !protocol.includes(`**${number} ${title}`));
  expect(missing).toEqual([]);
  for (const { file } of everyRule)
    expect(readFileSync(new URL(`packages/redlock/src/${file}`, root), "utf8").length).toBeGreaterThan(0);
});
