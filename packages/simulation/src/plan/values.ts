import * as v from "valibot";

// The values that fields of a plan may have, for plans that come from files.

type Numbers = v.GenericSchema<unknown, number>;

/** Two thousand seconds: some way below the longest delay of a timer, 2^31 ms. */
export const longest = 2_000_000;

export const number: Numbers = v.pipe(v.number(), v.finite());
export const atLeast = (least: number): Numbers => v.pipe(number, v.minValue(least));
export const whole = (least: number): Numbers => v.pipe(v.number(), v.safeInteger(), v.minValue(least));
export const positive: Numbers = v.pipe(number, v.gtValue(0), v.maxValue(longest));
export const span: Numbers = v.pipe(number, v.minValue(0), v.maxValue(longest));
export const share: Numbers = v.pipe(number, v.minValue(0), v.maxValue(1));
/** A clock that stands still or runs backwards is none. */
export const rate: Numbers = v.pipe(number, v.gtValue(-1_000_000), v.maxValue(1_000_000_000));
export const offset: Numbers = v.pipe(number, v.minValue(-1e12), v.maxValue(1e12));
