import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { actionsIn, editedModule, editsIn } from "./edits.ts";
import { modules } from "./tlc.ts";

const module = String.raw`---- MODULE Few ----
VARIABLES x, y  \* of /\ no account
vars == <<x, y>>
Quorum == Size \div 2 + 1
MayGo(m) == x[m] > 0 \/ IsOpen(m)
Go(m) ==
  /\ MayGo(m) /\ <<m, "go">> \notin y  \* 1.2
  /\ \E p \in {q \in All : q # m} : Cardinality(p) >= Quorum /\ x' = [x EXCEPT ![m] = Max(@, IF p = 1 THEN 2 ELSE 3)]
  /\ UNCHANGED y
Next == \E m \in All : Go(m) /\ m > 0
Fairness == WF_vars(y = 1 /\ Go(1))
Spec == Init /\ [][Next]_vars
Safe == x > 0 /\ y = 2
====
`;

function textOf(name: string): string {
  return readFileSync(join(modules, `${name}.tla`), "utf8");
}

function namesIn(text: string): readonly string[] {
  return editsIn(text, new Set()).map(({ name }) => name);
}

test("each guard is left out, and each bound is weakened: neither properties nor steps as a whole", () => {
  expect(namesIn(module)).toEqual([
    "Quorum: 1 -> 0",
    "MayGo: x[m] > 0 -> FALSE",
    "MayGo: IsOpen(m) -> FALSE",
    "MayGo: x[m] > 0 -> x[m] >= 0",
    "Go: MayGo(m) -> TRUE",
    'Go: <<m, "go">> \\notin y -> TRUE',
    "Go: Cardinality(p) >= Quorum -> TRUE",
    "Go: p = 1 -> TRUE",
    "Go: p = 1 -> FALSE",
    "Go: q # m -> TRUE",
    "Go: Quorum -> Quorum - 1",
    "Go: Max(@, IF p = 1 THEN 2 ELSE 3) -> @",
    "Go: Max(@, IF p = 1 THEN 2 ELSE 3) -> IF p = 1 THEN 2 ELSE 3",
  ]);
});

test("what calls a step is no guard, also where another module has the step", () => {
  expect(actionsIn(module)).toContain("Go");
  const calling = module.replace("IsOpen(m)\nGo", "IsOpen(m)\nTwice(m) == Other(m) /\\ y = 1\nGo");
  expect(editsIn(calling, new Set(["Other"])).map(({ name }) => name)).toContain("Twice: y = 1 -> TRUE");
  expect(editsIn(calling, new Set(["Other"])).map(({ name }) => name)).not.toContain(
    "Twice: Other(m) -> TRUE",
  );
});

test("a module has all of its edits in it, one within another", () => {
  const edits = editsIn(module, new Set());
  const text = editedModule(module, edits);
  expect(text).toContain("VARIABLE edit\nVARIABLES x, y");
  expect(text).toContain(
    "MayGo(m) == (IF edit = 2 THEN FALSE ELSE (IF edit = 4 THEN x[m] >= 0 ELSE x[m] > 0)) \\/",
  );
  for (const [index, { by }] of edits.entries())
    expect(text).toContain(`(IF edit = ${index + 1} THEN ${by} ELSE `);
});

test("each edit that is listed as accepted is one of its module", () => {
  const listed: Record<string, Record<string, string>> = JSON.parse(
    readFileSync(join(modules, "accepted-edits.json"), "utf8"),
  );
  const lock = actionsIn(textOf("Lock"));
  for (const [name, reasons] of Object.entries(listed)) {
    const known = editsIn(textOf(name), lock).map((edit) => edit.name);
    expect(Object.keys(reasons).filter((one) => !known.includes(one))).toEqual([]);
  }
});
