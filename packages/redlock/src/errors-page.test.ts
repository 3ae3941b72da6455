import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "@typescript/typescript6";
import { expect, test } from "vitest";

// Operators look an error up in docs/errors.md. Its names are compared with those that the types declare.

const page = readFileSync(join(import.meta.dirname, "../docs/errors.md"), "utf8");

/** The rows of the tables; the head of a table has no name in its first cell. */
const rows: ReadonlyArray<readonly string[]> = page
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );

function parsed(file: string): ts.SourceFile {
  const text = readFileSync(join(import.meta.dirname, file), "utf8");
  return ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
}

function named<T extends ts.Statement & { readonly name?: ts.Identifier | undefined }>(
  file: string,
  isKind: (node: ts.Node) => node is T,
): readonly T[] {
  return parsed(file).statements.filter((statement): statement is ts.Statement & T => isKind(statement));
}

/** The texts of a union's literals. */
function literalsOf(type: ts.TypeNode | undefined): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isLiteralTypeNode(node) && ts.isStringLiteral(node.literal)) found.push(node.literal.text);
    else ts.forEachChild(node, visit);
  };
  if (type) visit(type);
  return found;
}

function aliasIn(file: string, name: string): string[] {
  return literalsOf(named(file, ts.isTypeAliasDeclaration).find((alias) => alias.name.text === name)?.type);
}

function membersOf(
  file: string,
  owner: string,
): ReadonlyArray<{ readonly name: string; readonly type: ts.TypeNode | undefined }> {
  const declarations = [...named(file, ts.isInterfaceDeclaration), ...named(file, ts.isClassDeclaration)];
  const found = declarations.find(({ name }) => name?.text === owner)!;
  return [...found.members].flatMap((member) => {
    const isField = ts.isPropertySignature(member) || ts.isPropertyDeclaration(member);
    return isField ? [{ name: member.name.getText(), type: member.type }] : [];
  });
}

function literalsIn(file: string, owner: string, field: string): string[] {
  return literalsOf(membersOf(file, owner).find(({ name }) => name === field)?.type);
}

const classes = named("errors.ts", ts.isClassDeclaration).map(({ name }) => name!.text);

test.each([
  ["error class", 5, classes],
  ["reason of a master", 4, aliasIn("errors.ts", "NodeErrorReason")],
  ["reason of a loss", 4, literalsIn("errors.ts", "LockLostError", "reason")],
  ["event", 4, membersOf("redlock.ts", "RedlockEvents").map(({ name }) => name)],
  ["kind of clock event", 4, literalsIn("errors.ts", "ClockEvent", "kind")],
])("the page says of every %s what it means, what to look at and what to do", (_, cells, names) => {
  expect(names.length).toBeGreaterThan(2);
  const described = rows.filter((row) => row.length === cells && row.every(Boolean)).map(([first]) => first);
  expect(names.filter((name) => !described.includes(`\`${name}\``))).toEqual([]);
});

test("the page has every code, beside its class", () => {
  const codes = aliasIn("errors.ts", "RedlockErrorCode");
  const described = rows.filter((row) => row.length === 5).map((row) => row[1]!);
  expect(described.slice(1).sort()).toEqual(codes.map((code) => `\`${code}\``).sort());
});

test("the page describes nothing that the types do not have", () => {
  const known = [
    ...classes,
    ...aliasIn("errors.ts", "NodeErrorReason"),
    ...literalsIn("errors.ts", "LockLostError", "reason"),
    ...membersOf("redlock.ts", "RedlockEvents").map(({ name }) => name),
    ...literalsIn("errors.ts", "ClockEvent", "kind"),
  ];
  // (The words of Redis errors have no column of what to look at.)
  const described = rows.filter((row) => row.length > 3).map(([first]) => first!.replaceAll("`", ""));
  expect(described.filter((name) => !known.includes(name))).toEqual([]);
});
