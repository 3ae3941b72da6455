import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "@typescript/typescript6";
import { expect, test } from "vitest";
import { source } from "./rooms.ts";

// A value that changes in the client is a field of an object, and no object has many.
//
// - A class of the client has at most ten mutable fields: what more has is several things, or a state in the clothes of flags. A
//   collection is one field; an object of the client's own that a field is made with counts by its own fields.
// - Nothing at the top of a module changes: not a `let`, nor an object that is made there, unless its type is that of a set or
//   map that is only read.

const most = 10;
/** Those that have more. These numbers only fall. */
const above: Readonly<Record<string, number>> = {
  MasterConnection: 20,
};

/** The one store, and an object that says why no other can hold it. */
const atTheTop = ["redis/turn.ts turn", "time/kept.ts stores"];

const files: ReadonlyMap<string, ts.SourceFile> = new Map(
  readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => [file, readFileSync(join(source, file), "utf8")] as const)
    .map(([file, text]) => [file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)]),
);

/** How many, and the classes of the objects that it alone holds. */
type Fields = { readonly own: number; readonly held: readonly string[] };

/** "own", the class of the object that it alone holds, or `undefined` for a field that never changes. */
function kindOf({ modifiers, name, initializer, type, parent }: ts.PropertyDeclaration): string | undefined {
  const has = (kind: ts.SyntaxKind): boolean =>
    modifiers?.some((modifier) => modifier.kind === kind) ?? false;
  if (has(ts.SyntaxKind.StaticKeyword) || has(ts.SyntaxKind.DeclareKeyword)) return undefined;
  if (!has(ts.SyntaxKind.ReadonlyKeyword)) return "own";
  const value = initializer?.getText() ?? parent.getText().split(`this.${name.getText()} = `)[1] ?? "";
  const isCollection = /^(?:new )?(?:\[|(?:Array|Fifo|Map|Set|TinyQueue|WeakMap|WeakSet)\b)/;
  if (isCollection.test(value || (type?.getText() ?? ""))) return "own";
  return /^new (\w+)/.exec(value)?.[1];
}

function classesIn(file: ts.SourceFile): ReadonlyArray<readonly [string, Fields]> {
  return file.statements.filter(ts.isClassDeclaration).map((declared) => {
    const kinds = declared.members.filter(ts.isPropertyDeclaration).flatMap((field) => kindOf(field) ?? []);
    const held = kinds.filter((kind) => kind !== "own");
    return [declared.name!.text, { own: kinds.length - held.length, held }];
  });
}

test("a class of the client has at most ten mutable fields", () => {
  const all = new Map([...files.values()].flatMap(classesIn));
  const countOf = (name: string): number => {
    const { own, held } = all.get(name) ?? { own: 0, held: [] };
    return held.reduce((sum, other) => sum + countOf(other), own);
  };
  const counts = [...all.keys()].map((name) => [name, countOf(name)] as const);
  expect(all.size).toBeGreaterThan(80);
  expect(Object.fromEntries(counts.filter(([, count]) => count > most))).toEqual(above);
});

function makes(node: ts.Node): boolean {
  if (ts.isFunctionLike(node) || ts.isClassLike(node)) return false;
  if (ts.isNewExpression(node)) return !node.expression.getText().endsWith("Error");
  return ts.forEachChild(node, makes) === true;
}

test("nothing at the top of a module of the client changes but the one store", () => {
  const found = [...files].flatMap(([file, { statements }]) =>
    statements
      .filter(ts.isVariableStatement)
      .flatMap(({ declarationList: { declarations, flags } }) =>
        declarations.filter(({ type, initializer }) => {
          const isRead = /^Readonly(Map|Set)</.test(type?.getText() ?? "");
          return (
            !(flags & ts.NodeFlags.Const) || (!isRead && initializer !== undefined && makes(initializer))
          );
        }),
      )
      .map(({ name }) => `${file} ${name.getText()}`),
  );
  expect(found.sort()).toEqual(atTheTop);
});
