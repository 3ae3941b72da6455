import * as v from "valibot";
import { writeRefusals } from "../master/write-refusal.ts";
import type { Random } from "../random.ts";
import type { FaultFields, FaultName } from "./fault.ts";
import { number, offset, positive, rate, span, whole } from "./values.ts";

/** The properties of a run that faults depend on. */
export interface Scale {
  readonly random: Random;
  readonly masters: number;
  readonly clients: number;
  readonly ttl: number;
  readonly duration: number;
  /** Bound of every clock's rate, ppm. */
  readonly rate: number;
  /** Whether that very bound, or a perfect clock, is drawn more often than anything between. */
  readonly hasExtremeRates: boolean;
  /** Bound of the steps of a master's wall clock, ms; 0 where it does not step. */
  readonly masterStep: number;
  /** The kinds of faults that there are at all. */
  readonly kinds: readonly FaultName[];
}

interface Field<T> {
  /** The values that it may have in a file. */
  readonly is: v.GenericSchema<unknown, Exclude<T, undefined>>;
  /** One of them at random; `drawn` are the fields before it. Without it, it is drawn before the kind is looked at. */
  readonly draw?: (scale: Scale, drawn: Partial<FaultFields>) => T | undefined;
  /** A smaller one is simpler. */
  readonly isMagnitude?: true;
  readonly isOptional?: true;
}

const targets = v.union([v.array(whole(0)), v.literal("here")], 'must be a list of numbers, or "here"');

const picked = <const Values extends readonly string[]>(values: Values): Field<Values[number]> => ({
  is: v.picklist(values),
  draw: ({ random }) => random.pick(values),
});

/** The table of the fields of faults. */
export const fields: { readonly [Name in keyof FaultFields]-?: Field<FaultFields[Name]> } = {
  clients: { is: targets },
  masters: { is: targets },
  duration: { is: positive, isMagnitude: true },
  reading: { is: whole(1), draw: ({ random }) => random.integer(1, 40), isOptional: true },
  rate: { is: rate, draw: drawRate, isMagnitude: true },
  by: {
    is: offset,
    draw: (scale, { masters = [] }) => (masters.length > 0 ? drawMasterStep(scale) : drawStep(scale)),
    isMagnitude: true,
  },
  direction: picked(["requests", "replies", "both"]),
  ending: picked(["heal", "reset"]),
  // Mostly both: a way that is cut is cut for all that takes it.
  of: {
    is: v.picklist(["commands", "pushes"]),
    draw: ({ random }) => (random.chance(0.7) ? undefined : random.chance(0.8) ? "pushes" : "commands"),
    isOptional: true,
  },
  inFlight: {
    is: v.picklist(["lost", "delivered"]),
    draw: ({ random }) => (random.chance(0.4) ? "lost" : "delivered"),
  },
  late: {
    is: span,
    draw({ random, ttl }, { inFlight }) {
      if (inFlight === "lost") return undefined;
      const late = Math.ceil(ttl * random.logUniform(0.005, 1));
      return random.chance(0.6) ? late : undefined;
    },
    isMagnitude: true,
    isOptional: true,
  },
  factor: {
    is: v.pipe(number, v.gtValue(0)),
    draw: ({ random }) => random.logUniform(2, 100),
    isMagnitude: true,
  },
  to: { is: whole(0), draw: ({ random, masters }) => random.integer(0, masters - 1) },
  how: picked(["process", "power"]),
  downFor: { is: positive, draw: (_, { duration }) => duration, isMagnitude: true },
  why: picked(writeRefusals),
  pause: { is: positive, draw: ({ random, ttl }) => ttl * random.logUniform(0.001, 0.1) },
  lag: { is: span, draw: ({ random, ttl }) => Math.round(random.logUniform(1, ttl)), isMagnitude: true },
  nth: { is: whole(0), draw: ({ random }) => random.integer(0, 99), isMagnitude: true },
  apart: { is: offset, isMagnitude: true, isOptional: true },
  demoted: { is: v.boolean(), draw: () => true, isOptional: true },
};

/** The rate of a clock. */
export function drawRate({ random, rate, hasExtremeRates }: Scale): number {
  const between = random.between(-rate, rate);
  return Math.round(hasExtremeRates ? random.pick([0, -rate, rate, between]) : between);
}

/**
 * In either direction; but only forward if machines are suspended as well. A suspension and a step back without a
 * reading of the clocks between them cancel out, and no client can notice (see "Limits" in the README).
 */
function drawStep({ random, ttl, kinds }: Scale): number {
  const direction = kinds.includes("suspend") ? 1 : random.pick([-1, 1]);
  return direction * Math.round(random.logUniform(1, 10 * ttl));
}

function drawMasterStep({ random, masterStep }: Scale): number {
  return random.pick([-1, 1]) * Math.ceil(random.logUniform(masterStep / 100, masterStep));
}
