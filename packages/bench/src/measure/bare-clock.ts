import { type Clock, createClock, withGlobal } from "@sinonjs/fake-timers";

/** How @sinonjs/fake-timers can be made to keep time. */
export interface ClockKind {
  readonly name: string;
  make(): Clock;
}

/** As it comes: each timer is an object like Node's, with `ref` and `unref`. */
export const defaultClock: ClockKind = { name: "next() of a default clock", make: () => createClock() };

const plainGlobal = { setTimeout: () => 1, clearTimeout: () => {}, Date };

/** As the simulation's engine makes it: timers are numbers. */
export const plainClock: ClockKind = {
  name: "next() with plain timers",
  make: () => withGlobal(plainGlobal as never).createClock(),
};

/** Calls `next()` so often, with so many timers pending: each sets its successor, up to 1 ms (1,000 ticks) later. */
export function stepBare(kind: ClockKind, pending: number, steps: number): void {
  const clock = kind.make();
  let random = 1;
  const succeed = (): void => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7fffffff;
    clock.setTimeout(succeed, 1 + (random % 1000));
  };
  for (let timer = 0; timer < pending; timer += 1) succeed();
  for (let step = 0; step < steps; step += 1) clock.next();
}
