import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "@typescript/typescript6";
import { expect, test } from "vitest";
import { source } from "./rooms.ts";

// Nothing at the top of a module of the client changes: not a `let`, nor a collection or another object that is made there and
// has no type of its own that is read-only.

/** The one store, and an object that says why no other can hold it. */
const allowed = ["redis/turn.ts turn", "time/kept.ts stores"];
/** Those that are to go. This list only shrinks. */
const toGo = [
  "adapters/ioredis/callback-command.ts makers",
  "adapters/ioredis/duplicate.ts watched",
  "adapters/node-redis/words.ts latest",
  "adapters/node-redis/words.ts latestHidden",
  "adapters/watched.ts patched",
  "protocol/foreign.ts told",
  "protocol/round.ts timeOuts",
  "protocol/weak-listeners.ts forgetting",
];

function makes(node: ts.Node): boolean {
  if (ts.isFunctionLike(node) || ts.isClassLike(node)) return false;
  if (ts.isNewExpression(node)) return !node.expression.getText().endsWith("Error");
  return ts.forEachChild(node, makes) === true;
}

function changes({ type, initializer, parent }: ts.VariableDeclaration): boolean {
  if (!(parent.flags & ts.NodeFlags.Const)) return true;
  return initializer !== undefined && makes(initializer) && !/^Readonly(Map|Set)</.test(type?.getText() ?? "");
}

test("nothing at the top of a module of the client changes but the one store", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" });
  const found = files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .flatMap((file) => {
      const text = readFileSync(join(source, file), "utf8");
      const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
      const made = statements
        .filter(ts.isVariableStatement)
        .flatMap((one) => one.declarationList.declarations);
      return made.filter(changes).map(({ name }) => `${file} ${name.getText()}`);
    });
  expect(found.sort()).toEqual([...allowed, ...toGo].sort());
});
