import { describe, expect, test } from "vitest";
import { NodeError } from "../errors.ts";
import { StateLog } from "./state-log.ts";

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
  test("that fails every other time has one line, and two of one name have one each", () => {
    const { log, events, wait } = noting();
    for (let time = 0; time < 10; time += 1) {
      log.onAnswer(master, "vote", time % 2 === 0 ? fault("TIMEOUT") : { is: "yes" });
      log.onAnswer({ ...master, client: {} }, "vote", { is: "yes" });
      wait(500);
    }
    expect(events).toEqual(["master_failed"]);
    log.onAnswer({ ...master, client: {} }, "vote", fault("TIMEOUT"));
    expect(events).toEqual(["master_failed", "master_failed"]);
  });

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
