import type { Picture } from "./picture.ts";
import type { Thing } from "./thing.ts";

/** The rule of docs/protocol.md that a thing follows or breaks, and the file of the client in which it is decided. */
export interface Rule {
  readonly number: string;
  readonly title: string;
  /** In packages/redlock/src. */
  readonly file: string;
}

function rule(number: string, title: string, file: string): Rule {
  return { number, title, file };
}

const lease = rule(
  "3.2",
  "The lease ends at the q-th largest of the masters' deadlines.",
  "protocol/lease.ts",
);
const release = rule(
  "5.1",
  "A release compares and deletes in one step, on all masters.",
  "protocol/release.ts",
);
const vote = rule(
  "2.2",
  "All masters are asked at once, on connections that never resend.",
  "protocol/round.ts",
);
const extension = rule(
  "4.1",
  "An extension needs a quorum before the previous deadline.",
  "protocol/extend.ts",
);
const check = rule("1.5", "The holder checks its lease before it acts.", "protocol/lease.ts");
const memory = rule("1.2", "Masters do not forget.", "safeguards/restart-guard.ts");
const settles = rule("1.10", "Every call settles", "protocol/round.ts");
const paused = rule("1.12", "Not promised: that a paused process stops writing.", "protocol/fencing.ts");

/** By the beginning of the command. */
const commands: ReadonlyArray<readonly [command: RegExp, rule: Rule]> = [
  [
    /<enqueue>/,
    rule(
      "7.1",
      "A waiter asks by a script that votes or, where it refuses, makes a queue entry in the same step.",
      "waiting/wait.ts",
    ),
  ],
  [
    /<(guarded)?leave>/i,
    rule(
      "7.10",
      "A waiter that leaves removes its entries and passes on what it was granted",
      "waiting/wait.ts",
    ),
  ],
  [
    /<guarded/i,
    rule(
      "9.1",
      "A master that may have forgotten votes casts none until the longest ttl has passed.",
      "safeguards/restart-guard.ts",
    ),
  ],
  [/<release|^DEL/i, release],
  [/^SET|<claim>|batch>/i, vote],
];

const violations: Readonly<Record<string, Rule>> = {
  effect: paused,
  expired: rule("2.5", "A lease without validity is a failed attempt.", "protocol/vote.ts"),
  untold: rule("1.11", "The holder is notified before another client can hold.", "protocol/lease.ts"),
  unsettled: settles,
  margin: rule("3.1", "Each master has a deadline.", "protocol/lease.ts"),
};

const faults: Readonly<Record<string, Rule>> = {
  step: rule("1.3", "Wall clocks of masters do not step.", "safeguards/clock-watch.ts"),
  rate: rule("1.1", "Clock rates.", "time/lease-clock.ts"),
  crash: memory,
  flush: memory,
  remove: memory,
  evict: memory,
  promote: memory,
  failover: memory,
  resync: memory,
  reload: memory,
  refuse: rule("1.7", "Masters fail, but do not lie.", "redis/reply-numbers.ts"),
  freeze: paused,
  stall: paused,
  suspend: rule(
    "3.4",
    "Lease time adds, at each reading, the larger of the times that the two clocks show since the previous reading.",
    "time/lease-clock.ts",
  ),
};

const exclusion = rule("1.9", "Mutual exclusion.", "protocol/quorum.ts");

const calls: Readonly<Record<string, Rule>> = { release, extend: extension };

/** The rule that a thing is about; none for what is no matter of the protocol. */
export function ruleOf({ texts }: Picture, thing: Thing): Rule | undefined {
  switch (thing.kind) {
    case "message":
      return commands.find(([command]) => command.test(texts[thing.it[6]] ?? ""))?.[1];
    case "hold":
      return lease;
    case "key":
      return rule(
        "2.12",
        "A yes means that the key holds this token and lives for at least the ttl from now.",
        "redis/lua/exclusive/claim.lua",
      );
    case "call":
      return (
        calls[thing.it[2]] ?? rule("2.3", "A round is decided as early as possible.", "protocol/quorum.ts")
      );
    case "write":
      return thing.write[1]
        ? check
        : rule("8.1", "A vote proposes the token, and stores it in the same step.", "protocol/fencing.ts");
    case "fault":
      return faults[thing.it.kind] ?? settles;
    case "pause":
      return check;
    case "overlap":
      return exclusion;
    case "violation":
      return violations[thing.it.kind] ?? exclusion;
  }
}

/** Every rule that can be shown. */
export const everyRule: readonly Rule[] = [
  lease,
  release,
  vote,
  extension,
  check,
  memory,
  settles,
  paused,
  exclusion,
  ...commands.map(([, its]) => its),
  ...Object.values(violations),
  ...Object.values(faults),
];
