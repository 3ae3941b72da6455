import { readFileSync } from "node:fs";
import { join } from "node:path";
import { modules, type Simulation } from "./tlc.ts";

/** The bounds of one search. */
export interface Bounds {
  readonly name: string;
  /** The values of the constants, as in a configuration file. */
  readonly constants: readonly string[];
  /** _quick_ ones are searched by `pnpm spec --quick` as well; _variants_ only for the sake of variants. */
  readonly level: "quick" | "full" | "variants";
  /** Too large for all states: random behaviours. */
  readonly simulate?: Simulation;
}

/** A module of the specification, what is checked of it, and within which bounds. */
export interface Part {
  readonly module: string;
  /** Default: `Spec`. */
  readonly specification?: string;
  /** Invariants, properties, constraint, symmetry and view, as in a configuration file. */
  readonly checks: readonly string[];
  readonly bounds: readonly Bounds[];
}

/** A deliberate fault in a module, which TLC has to refute. */
export interface Variant {
  readonly name: string;
  /** The rules of docs/protocol.md that it breaks. */
  readonly breaks: readonly string[];
  /** The definition of the module that is overridden, and the one in its place. */
  readonly overridden: string;
  readonly by: string;
  readonly bounds: Bounds;
}

const threeMasters = ["A = A", "B = B", "C = C", "Masters = {A, B, C}"];
const twoClients = [
  ...threeMasters,
  "D = D",
  'Clients = {"c1", "c2"}',
  "Attempts = {1, 2}",
  "ClientOf <- TwoClients",
];
const drift = ["Slow = 1", "Fast = 2", "Rate <- SlowHolder"];
const lock = (rounds: number, ttls: string, extending: string): readonly string[] => [
  ...twoClients,
  ...drift,
  `Rounds = ${rounds}`,
  `Ttls = {${ttls}}`,
  `Extending = {${extending}}`,
];

const queue = (rounds: number, servers: string, attempts: string): readonly string[] => [
  ...["A = A", "B = B", "C = C", `Masters = {${servers}}`],
  'Clients = {"c"}',
  `Attempts = {${attempts}}`,
  "ClientOf <- OneClient",
  ...["Slow = 1", "Fast = 1", "Rate <- Even"],
  `Rounds = ${rounds}`,
  "Ttls = {1}",
  "Extending = {}",
];

const ending = (rounds: number, servers: string): readonly string[] => [
  `Masters = {${servers}}`,
  "Attempts = {1, 2}",
  `Rounds = ${rounds}`,
];

const fencing = (losses: number, repeating = ""): readonly string[] => [
  ...threeMasters,
  "Attempts = {1, 2}",
  "Proposals = {1, 2}",
  `Repeating = {${repeating}}`,
  `Losses = ${losses}`,
];

const guard = (extending: string): readonly string[] => [
  ...threeMasters,
  "Attempts = {1, 2}",
  `Extending = {${extending}}`,
  "MaxTtl = 2",
  "Losses = 1",
];

export const catalogue: readonly Part[] = [
  {
    module: "ClocksModel",
    checks: ["INVARIANT NeverTooShort", "CONSTRAINT Bounded"],
    bounds: [
      { name: "three units", level: "quick", constants: ["Duration = 3", "Steps <- StepsBy"] },
      { name: "five units", level: "full", constants: ["Duration = 5", "Steps <- StepsBy"] },
    ],
  },
  {
    module: "LockModel",
    checks: [
      "INVARIANTS OneHolder ToldBeforeAnother NoKeyOutlivesItsTtl",
      "PROPERTY LostStaysLost",
      "CONSTRAINT SomeoneIsLeft",
      "SYMMETRY AnyMaster",
      "VIEW Relative",
    ],
    bounds: [
      { name: "one round", level: "quick", constants: lock(1, "4", "") },
      { name: "extended", level: "full", constants: lock(1, "4", "1") },
      { name: "two ttls", level: "variants", constants: lock(1, "2, 4", "1") },
      { name: "two rounds", level: "variants", constants: lock(2, "2", "") },
    ],
  },
  {
    module: "QueueModel",
    specification: "QueueSpec",
    checks: [
      "INVARIANTS OneHolder ToldBeforeAnother NoKeyOutlivesItsTtl",
      "PROPERTY NotOvertaken",
      "CONSTRAINT SomeoneIsLeft",
      "SYMMETRY AnyMaster",
      "VIEW RelativeQueue",
    ],
    bounds: [
      { name: "two waiters", level: "quick", constants: queue(1, "A, B, C", "1, 2") },
      { name: "two rounds", level: "variants", constants: queue(2, "A, B, C", "1, 2") },
      { name: "three waiters", level: "full", constants: queue(1, "A, B", "1, 2, 3") },
    ],
  },
  {
    module: "ServedModel",
    specification: "ServedSpec",
    checks: [
      "INVARIANT FirstComeFirstServed",
      "CONSTRAINT SomeoneIsLeft",
      "SYMMETRY AnyMaster",
      "VIEW Viewed",
    ],
    bounds: [
      {
        name: "two waiters",
        level: "full",
        constants: [...queue(1, "A, B, C", "1, 2"), "Observed <- Passing"],
      },
      {
        name: "two rounds",
        level: "variants",
        constants: [...queue(2, "A, B", "1, 2"), "Observed <- Passing"],
      },
    ],
  },
  {
    module: "EndingModel",
    checks: ["PROPERTY EachAttemptEnds"],
    bounds: [
      { name: "two rounds", level: "quick", constants: ending(2, '"A", "B", "C"') },
      { name: "no limit", level: "full", constants: ending(0, '"A", "B"') },
    ],
  },
  {
    module: "FencingModel",
    checks: ["INVARIANT TokensRise", "SYMMETRY AnyMaster"],
    bounds: [
      { name: "two attempts", level: "full", constants: fencing(0) },
      { name: "one asks twice", level: "full", constants: fencing(0, "1") },
      { name: "one loss", level: "full", constants: fencing(1) },
    ],
  },
  {
    module: "GuardModel",
    checks: ["INVARIANT OneHolder", "CONSTRAINT IsAlive", "SYMMETRY AnyMaster"],
    bounds: [
      { name: "nobody extends", level: "quick", constants: guard("") },
      { name: "one may extend", level: "full", constants: guard("1") },
    ],
  },
  {
    module: "SemaphoreModel",
    checks: ["INVARIANTS EachSlotOnce NoMoreThanThereAre", "SYMMETRY AnyMaster"],
    bounds: [
      {
        name: "three attempts",
        level: "full",
        constants: [...threeMasters, "Slots = {1, 2}", "Attempts = {1, 2, 3}"],
      },
    ],
  },
  {
    module: "ReadWriteModel",
    checks: ["INVARIANTS AWriterIsAlone NobodyWaitsForEver", "SYMMETRY AnyMaster"],
    bounds: [
      {
        name: "two readers and a writer",
        level: "full",
        constants: [...threeMasters, 'Readers = {"r1", "r2"}', 'Writers = {"w"}'],
      },
    ],
  },
  {
    module: "MembershipModel",
    checks: ["INVARIANT OneHolder"],
    bounds: [
      {
        name: "one at a time",
        level: "quick",
        constants: ["Lists <- OneAtATime", 'Clients = {"c1", "c2"}'],
      },
    ],
  },
];

/** The text of the configuration file for a search. */
export function configFor(
  { checks, specification = "Spec" }: Part,
  { constants }: Bounds,
  variant?: Variant,
): string {
  const override = variant ? [`CONSTANT ${variant.overridden} <- ${variant.by}`] : [];
  return [
    `SPECIFICATION ${specification}`,
    "CONSTANTS",
    ...constants.map((line) => `  ${line}`),
    ...override,
    ...checks,
    "",
  ].join("\n");
}

/** The variants of a part: in its module each has a comment with what it overrides, the rules, the bounds and its name. */
export function variantsOf({ module, bounds }: Part): readonly Variant[] {
  const text = readFileSync(join(modules, `${module}.tla`), "utf8");
  const comments = text.matchAll(/^\\\* (\w+), ([\d. ]+), ([^:]+): (.+)\n(\w+)/gm);
  return [...comments].map(([, overridden = "", rules = "", place = "", name = "", by = ""]) => {
    const its = bounds.find((one) => one.name === place);
    if (!its) throw new Error(`${module}: the variant "${name}" names bounds that there are not: "${place}"`);
    return { name, breaks: rules.trim().split(" "), overridden, by, bounds: its };
  });
}
