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
  /** The edits of the module are judged within them. */
  readonly edits?: true;
  /** What happens at last is looked at, and nothing else: time, symmetry and what is left out of states are no part of that. */
  readonly temporal?: true;
  /** Too large for all states: random behaviours. */
  readonly simulate?: Simulation;
}

/** A module of the specification, what is checked of it, and within which bounds. */
export interface Part {
  readonly module: string;
  /** Default: `Spec`. */
  readonly specification?: string;
  readonly invariants: readonly string[];
  /** Properties of each step: `P` stands for `[][PStep]_vars`. */
  readonly steps?: readonly string[];
  /** What happens at last, under the module's `Fairness`. */
  readonly temporal?: readonly string[];
  /** What may happen: an edit with which it cannot is refuted. */
  readonly reaches?: readonly string[];
  /** Constraint and symmetry, as in a configuration file. */
  readonly extra: readonly string[];
  readonly view?: string;
  /** The edits of the module are judged in seconds, so `--quick` has them as well. */
  readonly quickEdits?: true;
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

const fencing = (losses: number, repeating = "", servers = "A, B, C"): readonly string[] => [
  ...["A = A", "B = B", "C = C", `Masters = {${servers}}`],
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
    quickEdits: true,
    invariants: ["TypeOK", "NeverTooShort"],
    reaches: ["MayBeExact", "MayBeBehind"],
    extra: ["CONSTRAINT Bounded"],
    bounds: [
      { name: "three units", level: "quick", constants: ["Duration = 3", "Steps = {1, 2}"] },
      { name: "five units", level: "full", edits: true, constants: ["Duration = 5", "Steps = {1, 2}"] },
    ],
  },
  {
    module: "LockModel",
    invariants: ["OneHolder", "ToldBeforeAnother", "NoKeyOutlivesItsTtl"],
    steps: ["LostStaysLost"],
    extra: ["CONSTRAINT SomeoneIsLeft", "SYMMETRY AnyMaster"],
    view: "Relative",
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
    invariants: ["OneHolder", "ToldBeforeAnother", "NoKeyOutlivesItsTtl"],
    steps: ["NotOvertaken"],
    extra: ["CONSTRAINT SomeoneIsLeft", "SYMMETRY AnyMaster"],
    view: "RelativeQueue",
    bounds: [
      { name: "two waiters", level: "quick", constants: queue(1, "A, B, C", "1, 2") },
      { name: "two rounds", level: "variants", constants: queue(2, "A, B, C", "1, 2") },
      { name: "three waiters", level: "full", constants: queue(1, "A, B", "1, 2, 3") },
    ],
  },
  {
    module: "EndingModel",
    invariants: ["TypeOK", "OnlyForOthers", "HeldByAMajority"],
    steps: ["Advances", "ToTheFirst"],
    temporal: ["EachAttemptEnds"],
    extra: [],
    bounds: [
      { name: "two rounds", level: "quick", constants: ending(2, '"A", "B", "C"') },
      {
        name: "two rounds, at last",
        level: "full",

        temporal: true,
        constants: ending(2, '"A", "B"'),
      },
      { name: "no limit", level: "full", temporal: true, constants: ending(0, '"A", "B"') },
    ],
  },
  {
    module: "FencingModel",
    invariants: ["TypeOK", "TokensRise", "StoredByAMajority"],
    steps: ["Advances"],
    reaches: ["MayBeAtOnce", "MayBeStored", "MayFollowLoss", "MayHaveFloor"],
    extra: ["CONSTRAINT Few", "SYMMETRY AnyMaster"],
    bounds: [
      { name: "two attempts", level: "full", constants: fencing(0) },
      { name: "one asks twice", level: "full", constants: fencing(0, "1") },
      { name: "one loss", level: "full", constants: fencing(1) },
      { name: "two masters", level: "full", constants: fencing(1, "1", "A, B") },
    ],
  },
  {
    module: "GuardModel",
    invariants: ["TypeOK", "OneHolder"],
    steps: ["LostStaysLost", "VotesAreRemembered"],
    reaches: ["MayHold", "MayHoldAgain", "MayExtend", "MayRepair"],
    extra: ["CONSTRAINT IsAlive", "SYMMETRY AnyMaster"],
    bounds: [
      { name: "nobody extends", level: "quick", constants: guard("") },
      { name: "one may extend", level: "full", constants: guard("1") },
    ],
  },
  {
    module: "SemaphoreModel",
    invariants: ["TypeOK", "EachSlotOnce", "HeldByAMajority", "OneVoteForASlot", "NoMoreThanThereAre"],
    steps: ["Advances"],
    reaches: ["MayBeOfOne", "MayBeOfTwo", "MayFollow"],
    extra: ["SYMMETRY AnyMaster"],
    bounds: [
      {
        name: "three attempts",
        edits: true,
        level: "full",
        constants: [...threeMasters, "Slots = {1, 2}", "Attempts = {1, 2, 3}"],
      },
    ],
  },
  {
    module: "ReadWriteModel",
    invariants: ["TypeOK", "AWriterIsAlone", "OnEachMasterToo", "HeldByAMajority"],
    steps: ["Advances"],
    reaches: ["MayShare", "MayShareWithWriter", "MayWriteAfter", "MayWriteAfterWriter"],
    extra: ["SYMMETRY AnyMaster"],
    bounds: [
      {
        name: "two readers and a writer",
        level: "full",
        edits: true,
        constants: [...threeMasters, 'Readers = {"r1", "r2"}', 'Writers = {"w"}'],
      },
      {
        name: "two writers and a reader",
        level: "full",
        edits: true,
        constants: [...threeMasters, 'Readers = {"r"}', 'Writers = {"w1", "w2"}'],
      },
    ],
  },
  {
    module: "MembershipModel",
    quickEdits: true,
    invariants: ["TypeOK", "OneHolder"],
    reaches: ["MayGrow", "MayShrink"],
    extra: [],
    bounds: [
      {
        name: "any lists of four",
        level: "quick",
        edits: true,
        constants: ["Lists <- AnyList", 'Clients = {"c1", "c2"}'],
      },
    ],
  },
];

/** The module that a part is about: its own has the bounds and the variants. */
export function nameOf(module: string): string {
  return module.replace("Model", "");
}

/** The text of the configuration file for a search. */
export function configFor(
  { invariants, steps = [], temporal = [], extra, view, specification = "Spec" }: Part,
  bounds: Bounds,
  variant?: Variant,
): string {
  const checks = bounds.temporal
    ? temporal.map((name) => `PROPERTY ${name}`)
    : [
        ...invariants.map((name) => `INVARIANT ${name}`),
        ...steps.map((name) => `PROPERTY ${name}`),
        ...extra,
        ...(view === undefined ? [] : [`VIEW ${view}`]),
      ];
  return [
    `SPECIFICATION ${bounds.temporal ? specification.replace("Spec", "FairSpec") : specification}`,
    "CONSTANTS",
    ...bounds.constants.map((line) => `  ${line}`),
    ...(variant ? [`CONSTANT ${variant.overridden} <- ${variant.by}`] : []),
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
