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
  /** The edits of the module are judged within them, and actions counted; or those of these definitions, where it takes long. */
  readonly edits?: true | readonly string[];
  /** Only liveness is looked at: time, symmetry and what is left out of states are no part of that. */
  readonly temporal?: true;
  /** Of the invariants this one alone. */
  readonly only?: string;
  /** It takes more than some ten seconds: it begins among the first, and its actions are not counted. */
  readonly isLong?: true;
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
  /** Liveness, under the module's `Fairness`. */
  readonly temporal?: readonly string[];
  /** Goals that are reached: an edit with which one is not is refuted. */
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
  ...["D = D", "E5 = E5"],
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
  'Extensions = {"repair"}',
];

const even = (masters: string, attempts: string, rounds: number, ttls = "1"): readonly string[] => [
  ...["A = A", "B = B", "C = C", "D = D", "E5 = E5", `Masters = {${masters}}`, `Attempts = {${attempts}}`],
  ...['Clients = {"c1"}', "ClientOf <- OneClient", "Slow = 1", "Fast = 1", "Rate <- Even"],
  ...[`Rounds = ${rounds}`, `Ttls = {${ttls}}`],
];
const extending = (attempts: string): readonly string[] => [
  `Extending = {${attempts}}`,
  'Extensions = {"repair", "extend"}',
];
const queue = (
  rounds: number,
  masters: string,
  attempts: string,
  deaf = "",
  ttls = "1",
): readonly string[] => [...even(masters, attempts, rounds, ttls), ...extending(""), `Deaf = {${deaf}}`];

const ending = (rounds: number, servers: string): readonly string[] => [
  `Masters = {${servers}}`,
  "Attempts = {1, 2}",
  `Rounds = ${rounds}`,
];

const fencing = (
  losses: number,
  repeating = "",
  servers = "A, B, C",
  proposals = "1, 2",
): readonly string[] => [
  ...["A = A", "B = B", "C = C", `Masters = {${servers}}`],
  "Attempts = {1, 2}",
  `Proposals = {${proposals}}`,
  `Repeating = {${repeating}}`,
  `Losses = ${losses}`,
];
const busy = ["Init <- InitBusy", "GiveUp <- Never", "Forget <- Never"];

const guard = (extending: string, losses = 1, servers = "A, B, C"): readonly string[] => [
  ...["A = A", "B = B", "C = C", `Masters = {${servers}}`],
  "Attempts = {1, 2}",
  `Extending = {${extending}}`,
  "MaxTtl = 2",
  `Losses = ${losses}`,
];
const repair = (servers: string, sends: number): readonly string[] => [
  ...["A = A", "B = B", "C = C", `Masters = {${servers}}`, `Sends = ${sends}`],
];
const semaphore = (servers: string): readonly string[] => [
  ...["A = A", "B = B", "C = C", `Masters = {${servers}}`, "Slots = {1, 2}", "Attempts = {1, 2, 3}"],
];
const readWrite = (servers: string, readers: string, writers: string): readonly string[] => [
  ...["A = A", "B = B", "C = C", `Masters = {${servers}}`],
  ...[`Readers = {${readers}}`, `Writers = {${writers}}`],
];
const signal = (isFree: boolean): readonly string[] => [
  ...["Ttl = 3", "Notice = 1", "Duration = 6"],
  `IsFree = ${isFree ? "TRUE" : "FALSE"}`,
];

const within =
  (level: Bounds["level"]) =>
  (name: string, constants: readonly string[], more: Partial<Bounds> = {}): Bounds => ({
    name,
    level,
    constants,
    ...more,
  });
const [quick, full, variants] = [within("quick"), within("full"), within("variants")];

export const catalogue: readonly Part[] = [
  {
    module: "ClocksModel",
    quickEdits: true,
    invariants: ["TypeOK", "NeverTooShort", "NeverTooLong"],
    steps: ["BeginsAnew"],
    reaches: ["MayBeExact", "MayBeBehind"],
    extra: ["CONSTRAINT Bounded"],
    bounds: [
      quick("three units", ["Duration = 3", "Steps = {1, 2}"]),
      full("five units", ["Duration = 5", "Steps = {1, 2}"], { edits: true }),
    ],
  },
  {
    module: "SignalModel",
    invariants: ["TypeOK", "OneHolder", "ToldInTime"],
    steps: ["LostStaysLost"],
    reaches: ["MayLast", "MayFollowLost", "MayFollowRelease", "MayBeLate"],
    extra: ["CONSTRAINT Bounded"],
    bounds: [quick("free", signal(true), { edits: true }), quick("busy", signal(false), { edits: true })],
  },
  {
    module: "LockModel",
    invariants: [
      ...["TypeOK", "OneHolder", "EachVoteIsThere", "ToldBeforeAnother", "NoKeyOutlivesItsTtl"],
      "EndsWithItsMajority",
    ],
    steps: ["LostStaysLost", "OnlyItsOwn", "OnlyAHolderRepairs"],
    reaches: [
      ...["MayHold", "MayFollow", "MayFollowLost", "MayExtendStep", "MayRepairStep", "MayConfirmStep"],
      ...["MayAskPlainlyStep", "MayAskAgainStep", "MayBeatStep", "MayDeleteEarlierStep"],
    ],
    extra: ["CONSTRAINT SomeoneIsLeft", "SYMMETRY AnyMaster"],
    view: "Relative",
    bounds: [
      quick("one round", lock(1, "4", "")),
      full("extended", lock(1, "2", "1"), { isLong: true }),
      full("two rounds", [...even("A, B", "1", 2), ...extending("")], { edits: true }),
      full("two ttls", [...even("A, B", "1", 1, "1, 2"), ...extending("1")], { edits: true }),
      full("three rounds", [...even("A, B", "1", 3), ...extending("")], { edits: ["Mine"] }),
      full("two masters", [...even("A, B", "1, 2", 1), ...extending("1")], { edits: true }),
      full("drift", lock(1, "2", "")),
      variants("three attempts", [...even("A, B", "1, 2, 3", 1), ...extending("")], { only: "OneHolder" }),
      full("five masters", [...even("A, B, C, D, E5", "1, 2, 3", 2, "2"), ...extending("1")], {
        simulate: { seed: 1, behaviours: 500, depth: 60 },
      }),
    ],
  },
  {
    module: "QueueModel",
    specification: "QueueSpec",
    invariants: [
      "TypeOK",
      "OneHolder",
      "EachVoteIsThere",
      "NoKeyOutlivesItsTtl",
      "QueueOK",
      "NoKeyIsLeftFree",
    ],
    steps: ["NotOvertaken", "WaitsOrIsForgotten", "VotesAsInLock"],
    temporal: ["EachWaiterIsServed"],
    reaches: [
      ...["MayHold", "MayFollow", "MayFollowInQueue", "MayBeGrantedStep", "MayBeReserved"],
      ...["MayServeDeaf", "MayBeFreeStep", "MayHoldLater"],
    ],
    extra: ["CONSTRAINT SomeoneIsLeft", "SYMMETRY AnyMaster"],
    view: "RelativeQueue",
    bounds: [
      quick("two waiters", queue(1, "A, B, C", "1, 2")),
      full("three waiters", queue(1, "A, B", "1, 2, 3"), { isLong: true }),
      full("two ttls", queue(2, "A", "1", "", "1, 2"), { edits: true }),
      full("one master", queue(2, "A", "1, 2", "2"), { edits: true }),
      full("no time passes", [...queue(1, "A", "1, 2, 3"), "Tick <- StandsStill", "Expire <- StaysThere"], {
        temporal: true,
      }),
      full("five masters", queue(2, "A, B, C, D, E5", "1, 2, 3", "3"), {
        simulate: { seed: 1, behaviours: 500, depth: 60 },
      }),
    ],
  },
  {
    module: "EndingModel",
    invariants: ["TypeOK", "OnlyForOthers", "HeldByAMajority"],
    steps: ["Advances", "ToTheFirst", "StaysInQueue"],
    temporal: ["EachAttemptEnds"],
    reaches: ["MayBeAMajority", "MayEndLaterStep"],
    extra: [],
    bounds: [
      quick("one round", ending(1, '"A", "B"'), { edits: true }),
      quick("two rounds", ending(2, '"A", "B", "C"'), { edits: true }),
      quick("no limit", ending(0, '"A", "B"'), { edits: true }),
      full("two rounds, at last", ending(2, '"A", "B"'), { temporal: true, edits: true }),
      full("no limit, at last", ending(0, '"A", "B"'), { temporal: true, edits: true }),
    ],
  },
  {
    module: "FencingModel",
    invariants: ["TypeOK", "TokensRise", "StoredByAMajority"],
    steps: ["Advances"],
    reaches: ["MayBeAtOnce", "MayBeStored", "MayAcknowledge", "MayFollowLoss", "MayHaveFloor"],
    extra: ["CONSTRAINT Few", "SYMMETRY AnyMaster"],
    bounds: [
      full("two attempts", fencing(0)),
      full("one asks twice", fencing(0, "1"), { isLong: true }),
      full("one loss", fencing(1), { isLong: true }),
      full("two masters", fencing(0, "1", "A, B"), { edits: true }),
      full("under way", [...fencing(0, "1", "A, B, C", "2"), ...busy], { edits: ["IsBelow", "Store"] }),
      full("two masters, two losses", fencing(2, "", "A, B", "1"), {
        edits: ["Sources", "Vote", "Restore"],
      }),
    ],
  },
  {
    module: "RepairModel",
    invariants: ["TypeOK", "NobodyIsHidden"],
    steps: ["OnlyFreeKeys"],
    reaches: ["MayBeRepaired", "MayForgetInTurn", "MayBeLost", "MayBeHidden"],
    extra: ["CONSTRAINT Few", "SYMMETRY AnyMaster"],
    view: "Useful",
    bounds: [
      full("one extension", repair("A, B, C", 1), { edits: true }),
      full("two masters", repair("A, B", 2), { edits: true }),
      full("in turn", [...repair("A, B", 3), "Take <- Never", "Disconnect <- Never"], { edits: ["Missed"] }),
    ],
  },
  {
    module: "GuardModel",
    invariants: ["TypeOK", "OneHolder"],
    steps: ["LostStaysLost", "VotesAreRemembered"],
    reaches: [
      ...["MayHold", "MayHoldAgain", "MayLast", "MayExtend", "MayRepair", "MayRepairAnother"],
      "MayVoteAgainStep",
    ],
    extra: ["CONSTRAINT IsAlive", "SYMMETRY AnyMaster"],
    bounds: [
      quick("nobody extends", guard("")),
      full("two masters", guard("1", 1, "A, B"), { edits: true }),
      full("two losses", guard("", 2, "A, B")),
      full("one may extend", guard("1"), { edits: ["Counts", "Repair", "Confirm"] }),
    ],
  },
  {
    module: "SemaphoreModel",
    invariants: ["TypeOK", "EachSlotOnce", "HeldByAMajority", "OneVoteForASlot", "NoMoreThanThereAre"],
    steps: ["Advances"],
    reaches: ["MayBeOfOne", "MayBeOfTwo", "MayFollow", "MayGiveUpStep", "MayBeLateStep"],
    extra: ["SYMMETRY AnyMaster"],
    bounds: [
      full("two masters", semaphore("A, B"), { edits: true }),
      full("three attempts", semaphore("A, B, C"), { isLong: true, edits: true }),
    ],
  },
  {
    module: "ReadWriteModel",
    invariants: ["TypeOK", "AWriterIsAlone", "OnEachMasterToo", "HeldByAMajority"],
    steps: ["Advances"],
    reaches: [
      ...["MayShare", "MayShareWithWriter", "MayWriteAfter", "MayWriteAfterWriter"],
      ...["MayBeAMajority", "MayEndAsReader", "MayBeLateStep"],
    ],
    extra: ["SYMMETRY AnyMaster"],
    bounds: [
      full("two masters", readWrite("A, B", '"r"', '"w1", "w2"'), { edits: true }),
      full("two readers and a writer", readWrite("A, B, C", '"r1", "r2"', '"w"'), { edits: true }),
      full("two writers and a reader", readWrite("A, B, C", '"r"', '"w1", "w2"'), {
        isLong: true,
        edits: true,
      }),
    ],
  },
  {
    module: "MembershipModel",
    quickEdits: true,
    invariants: ["TypeOK", "OneHolder"],
    reaches: ["MayGrow", "MayShrink"],
    extra: [],
    bounds: [quick("any lists of four", ["Lists <- AnyList", 'Clients = {"c1", "c2"}'], { edits: true })],
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
        ...(bounds.only ? [bounds.only] : invariants).map((name) => `INVARIANT ${name}`),
        ...(bounds.only ? [] : steps).map((name) => `PROPERTY ${name}`),
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
