import { array, assert, integer, nat, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { Engine, type EventId, longestDelay } from "./engine.ts";

function drained(engine: { step(): boolean }): void {
  while (engine.step());
}

describe("the engine", () => {
  test("accepts the longest delay of a timer, and rejects delays that a timer would change", () => {
    const engine = new Engine();
    engine.schedule(() => {}, longestDelay);
    drained(engine);
    expect(engine.now).toBe(longestDelay);
    for (const delay of [0, -1, 1.7, 5e-8, longestDelay + 1, Number.NaN]) {
      expect(() => engine.schedule(() => {}, delay)).toThrow(RangeError);
    }
  });
});

type Step = { readonly delay: number; readonly cancel: number; readonly children: readonly number[] };

/** The queue as a list that is searched from end to end for each event. */
class ListEngine implements Pick<Engine, "now" | "schedule" | "cancel" | "step"> {
  now = 0;
  readonly #events = new Set<EventId>();
  #count = 0;

  schedule(callback: () => void, delay: number): EventId {
    this.#count += 1;
    const event = { at: this.now + delay, number: this.#count, callback };
    this.#events.add(event);
    return event;
  }

  cancel(event: EventId): void {
    this.#events.delete(event);
  }

  step(): boolean {
    const [first] = [...this.#events].sort((one, other) => one.at - other.at);
    if (!first) return false;
    this.cancel(first);
    this.now = first.at;
    first.callback!();
    return true;
  }
}

/** Runs a random tree of events, some of which cancel others, and returns a line for each event. */
function story(engine: ListEngine | Engine, steps: readonly Step[]): string[] {
  const seen: string[] = [];
  const ids: EventId[] = [];
  const schedule = (step: Step, name: string): void => {
    const id = engine.schedule(() => {
      seen.push(`${name}@${engine.now}`);
      const victim = ids[step.cancel];
      if (victim !== undefined) engine.cancel(victim);
      for (const [index, delay] of step.children.entries()) {
        schedule({ delay, cancel: step.cancel + index, children: [] }, `${name}.${index}`);
      }
    }, step.delay);
    ids.push(id);
  };
  for (const [index, step] of steps.entries()) schedule(step, String(index));
  drained(engine);
  return seen;
}

test("the heap runs the same events as a list", () => {
  const delay = integer({ min: 1, max: 20 });
  const step = record({ delay, cancel: nat(60), children: array(delay, { maxLength: 4 }) });
  assert(
    property(array(step, { maxLength: 40 }), (steps) => {
      expect(story(new Engine(), steps)).toEqual(story(new ListEngine(), steps));
    }),
    { numRuns: 300 },
  );
});
