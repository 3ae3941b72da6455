import type { Picture } from "./picture.ts";
import type { Thing } from "./thing.ts";

/** The rule of docs/protocol.md that a thing follows or breaks, and the file of the client in which it is decided. */
export interface Rule {
  readonly number: string;
  readonly title: string;
  /** In packages/redlock/src. */
  readonly file: string;
}

/** Every rule that can be shown: its beginning, and its file. */
const rules = {
  "1.1": ["Clock rates.", "time/lease-clock.ts"],
  "1.2": ["Masters do not forget.", "safeguards/restart-guard.ts"],
  "1.3": ["Wall clocks of masters do not step.", "safeguards/clock-watch.ts"],
  "1.5": ["The holder checks its lease before it acts.", "protocol/lease.ts"],
  "1.7": ["Masters fail, but do not lie.", "redis/reply-numbers.ts"],
  "1.9": ["Mutual exclusion.", "protocol/quorum.ts"],
  "1.10": ["Every call settles", "protocol/round.ts"],
  "1.11": ["The holder is notified before another client can hold.", "protocol/lease.ts"],
  "1.12": ["Not promised: that a paused process stops writing.", "protocol/fencing.ts"],
  "2.2": ["All masters are asked at once, on connections that never resend.", "protocol/round.ts"],
  "2.3": ["A round is decided as early as possible.", "protocol/quorum.ts"],
  "2.5": ["A lease without validity is a failed attempt.", "protocol/vote.ts"],
  "2.12": [
    "A yes means that the key holds this token and lives for at least the ttl from now.",
    "redis/lua/exclusive/claim.lua",
  ],
  "3.1": ["Each master has a deadline.", "protocol/lease.ts"],
  "3.2": ["The lease ends at the q-th largest of the masters' deadlines.", "protocol/lease.ts"],
  "3.4": [
    "Lease time adds, at each reading, the larger of the times that the two clocks show since the previous reading.",
    "time/lease-clock.ts",
  ],
  "4.1": ["An extension needs a quorum before the previous deadline.", "protocol/extend.ts"],
  "5.1": ["A release compares and deletes in one step, on all masters.", "protocol/release.ts"],
  "7.1": [
    "A waiter asks by a script that votes or, where it refuses, makes a queue entry in the same step.",
    "waiting/wait.ts",
  ],
  "7.10": ["A waiter that leaves removes its entries and passes on what it was granted", "waiting/wait.ts"],
  "8.1": ["A vote proposes the token, and stores it in the same step.", "protocol/fencing.ts"],
  "9.1": [
    "A master that may have forgotten votes casts none until the longest ttl has passed.",
    "safeguards/restart-guard.ts",
  ],
} as const;

type RuleNumber = keyof typeof rules;

export const everyRule: readonly Rule[] = Object.entries(rules).map(([number, [title, file]]) => ({
  number,
  title,
  file,
}));

/** By the beginning of the command. */
const commands: ReadonlyArray<readonly [command: RegExp, rule: RuleNumber]> = [
  [/<enqueue>/, "7.1"],
  [/<(guarded)?leave>/i, "7.10"],
  [/<guarded/i, "9.1"],
  [/<release|^DEL/i, "5.1"],
  [/^SET|<claim>|batch>/i, "2.2"],
];

const violations: Readonly<Record<string, RuleNumber>> = {
  effect: "1.12",
  expired: "2.5",
  untold: "1.11",
  unsettled: "1.10",
  margin: "3.1",
};

const faults: Readonly<Record<string, RuleNumber>> = {
  step: "1.3",
  rate: "1.1",
  refuse: "1.7",
  freeze: "1.12",
  stall: "1.12",
  suspend: "3.4",
  ...Object.fromEntries(
    ["crash", "flush", "remove", "evict", "promote", "failover", "resync", "reload"].map((kind) => [
      kind,
      "1.2",
    ]),
  ),
};

const calls: Readonly<Record<string, RuleNumber>> = { release: "5.1", extend: "4.1" };

/** Of the things whose rule is the same for all of their kind. */
const others = { hold: "3.2", key: "2.12", pause: "1.5", overlap: "1.9" } as const;

function numberOf({ texts }: Picture, thing: Thing): RuleNumber | undefined {
  switch (thing.kind) {
    case "message":
      return commands.find(([command]) => command.test(texts[thing.it[6]] ?? ""))?.[1];
    case "call":
      return calls[thing.it[2]] ?? "2.3";
    case "write":
      return thing.write[1] ? "1.5" : "8.1";
    case "fault":
      return faults[thing.it.kind] ?? "1.10";
    case "violation":
      return violations[thing.it.kind] ?? "1.9";
    default:
      return others[thing.kind];
  }
}

/** The rule that a thing is about; none for what is no matter of the protocol. */
export function ruleOf(picture: Picture, thing: Thing): Rule | undefined {
  const number = numberOf(picture, thing);
  return everyRule.find((rule) => rule.number === number);
}
