import { describe, expect, test } from "vitest";
import type { RedlockOptions } from "../client.ts";
import { InvalidArgumentError, NodeError } from "../errors.ts";
import { Gate, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";
import { StateLog } from "./state-log.ts";

interface Setting extends VirtualSetting {
  readonly lines: ReadonlyArray<readonly [level: string, fields: object, message: string]>;
}

function setting(options: RedlockOptions = {}): Setting {
  const lines: Array<readonly [string, object, string]> = [];
  const at =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push([level, fields, message]);
  const logger = { info: at("info"), warn: at("warn"), error: at("error") };
  return { ...virtualSetting(3, { logger, nodeTimeout: 50, ...options }), lines };
}

function fail(): never {
  throw new TypeError("no disk");
}

/** Locks one after the other, which take more than a second. */
async function useFor(milliseconds: number, { time, redlock }: VirtualSetting): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 100) {
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.run(lock.release());
    await time.advance(100);
  }
}

describe("the log of a master's state", () => {
  test("has one line when it fails first and one when it answers again, whatever is asked between", async () => {
    const its = setting();
    await useFor(500, its);
    expect(its.lines).toEqual([]);
    its.nodes[1]!.hang();
    await useFor(3000, its);
    expect(its.lines).toEqual([
      [
        "warn",
        { event: "master_failed", node: "master-1", reason: "TIMEOUT" },
        "master master-1 fails: TIMEOUT",
      ],
    ]);
    its.nodes[1]!.resume();
    await useFor(3000, its);
    expect(its.lines.slice(1)).toEqual([
      [
        "info",
        { event: "master_answers", node: "master-1", reason: "TIMEOUT" },
        "master master-1 answers again",
      ],
    ]);
  });

  test("has no line for each failure of a master that fails every other time", async () => {
    const its = setting();
    for (let time = 0; time < 10; time += 1) {
      its.nodes[1]!.hang();
      await useFor(100, its);
      its.nodes[1]!.resume();
      await useFor(100, its);
    }
    expect(its.lines).toHaveLength(1);
  });

  test("has one line for a master whose name others share, as groups of a Sentinel may", async () => {
    const its = setting();
    for (const node of its.nodes) Object.assign(node, { name: "group" });
    its.nodes[1]!.hang();
    for (let time = 0; time < 3; time += 1) {
      await useFor(100, its);
      await its.time.advance(2000);
    }
    expect(its.lines.map(([, fields]) => fields)).toEqual([
      { event: "master_failed", node: "group", reason: "TIMEOUT" },
    ]);
  });

  test("calls a logger that throws nevertheless, and a lock is granted", async () => {
    const its = setting({ logger: { info: fail, warn: fail, error: fail } });
    its.machine.uncaught = [];
    its.nodes[1]!.hang();
    await useFor(200, its);
    expect(its.machine.uncaught).toEqual([new TypeError("no disk")]);
  });
});

const master = { name: "m", client: {} };
const fault = (reason: string) => ({ is: "fault", error: new NodeError("m", reason, "") });

/** A log whose events are noted, by a clock that a test advances. */
function noting() {
  const events: string[] = [];
  const note = (fields: object): void => void events.push((fields as { event: string }).event);
  let now = 0;
  const log = new StateLog({ info: note, warn: note, error: note }, { monotonic: () => now }, (write) =>
    write(),
  );
  const wait = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { log, events, wait };
}

/** The events after a fault with this reason and these answers, two seconds apart. */
function eventsAfter(reason: string, ...answers: ReadonlyArray<readonly [string, string]>): string[] {
  const { log, events, wait } = noting();
  log.onAnswer(master, "vote", fault(reason));
  for (const [operation, answer] of answers) {
    wait(2000);
    log.onAnswer(master, operation, answer === "yes" || answer === "no" ? { is: answer } : fault(answer));
  }
  return events;
}

describe("a master", () => {
  test("in quarantine votes again with a yes to a vote alone", () => {
    const others = [
      ["release", "yes"],
      ["extend", "yes"],
      ["vote", "no"],
    ] as const;
    expect(eventsAfter("QUARANTINE", ...others)).toEqual(["master_quarantined"]);
    expect(eventsAfter("QUARANTINE", ["vote", "yes"])).toEqual(["master_quarantined", "master_answers"]);
    // The request of a semaphore.
    expect(eventsAfter("QUARANTINE", ["voteUnless", "yes"])).toHaveLength(2);
  });

  test("that refuses one kind of request answers again when it takes that one", () => {
    expect(eventsAfter("NOPERM", ["release", "yes"])).toEqual(["master_failed"]);
    expect(eventsAfter("NOPERM", ["release", "yes"], ["vote", "no"])).toHaveLength(2);
  });

  test("that refused what nobody asks for any more, and then answers nothing, fails once more", () => {
    const events = eventsAfter(
      "OOM",
      ["release", "yes"],
      ["vote", "TIMEOUT"],
      ["vote", "TIMEOUT"],
      ["vote", "no"],
    );
    expect(events).toEqual(["master_failed", "master_failed", "master_answers"]);
  });

  test("that was unreachable answers again with any answer", () => {
    expect(eventsAfter("UNREACHABLE", ["release", "no"])).toEqual(["master_failed", "master_answers"]);
  });
});

describe("the log of what no request tells", () => {
  const lines: Array<readonly [string, object, string]> = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push([level, fields, message]);
  const log = new StateLog(
    { info: at("info"), warn: at("warn"), error: at("error") },
    { monotonic: () => 0 },
    (write) => write(),
  );

  test.each([
    ["stepped", "warn", "has stepped"],
    ["skewed", "warn", "is skewed"],
    ["synced", "info", "is synced"],
  ] as const)("has a line for a clock that %s", (kind, level, words) => {
    lines.length = 0;
    log.onClock({ kind, node: "m", offset: 5000, uncertainty: 2 });
    const fields = { event: `clock_${kind}`, node: "m", offset: 5000, uncertainty: 2 };
    expect(lines).toEqual([[level, fields, `the clock of master m ${words}`]]);
  });

  test.each(["SAME_SERVER", "MEMBERSHIP", "UNCERTAIN_FLOOR"])(
    "has a line for %s, and none as a failure",
    (reason) => {
      lines.length = 0;
      const error = new NodeError("m", reason, "");
      log.reported(error);
      const fields = { event: reason.toLowerCase(), node: "m", reason };
      expect(lines).toEqual([["warn", fields, `master m: ${reason}`]]);
    },
  );

  test("has none for an error event of a request, which has its own", () => {
    lines.length = 0;
    log.reported(new NodeError("m", "TIMEOUT", ""));
    expect(lines).toEqual([]);
  });
});

describe("the log of lost locks", () => {
  test("has a line for a fault, with the names escaped and no token", async () => {
    const its = setting();
    const name = "r\u001B[31m\u202E";
    const lock = await its.time.run(its.redlock.acquire(name, 1000));
    for (const master of its.masters) master.put(name, "rival");
    await expect(its.time.run(lock.extend(1000))).rejects.toThrow("lost");
    const escaped = "r\\u{1b}[31m\\u{202e}";
    expect(its.lines).toEqual([
      ["error", { event: "lock_lost", resources: [escaped], reason: "MAJORITY" }, `lost: ${escaped}`],
    ]);
    expect(JSON.stringify(its.lines)).not.toContain(lock.value);
  });

  test("has none for a lock that quit released, that was left to expire, or that reached its maxHoldTime", async () => {
    const its = setting();
    const { time, redlock } = its;
    await time.run(redlock.acquire("r", 1000));
    const gate = new Gate();
    const limited = redlock.using("limited", 400, { maxHoldTime: 500 }, () => gate.opened);
    await time.advance(1000);
    gate.open();
    await time.run(limited);
    await time.run(redlock.acquire("q", 1000));
    await time.run(redlock.quit());
    expect(its.lost).toHaveLength(3);
    expect(its.lines).toEqual([]);
  });
});

test("a logger without one of its methods is refused", () => {
  const logger = { info: () => {}, warn: () => {} } as never;
  expect(() => virtualSetting(3, { logger })).toThrow(InvalidArgumentError);
});
