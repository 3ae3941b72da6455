import luaparse, { type Node } from "luaparse";
import type { Mutant } from "./mutants.ts";

const otherOperator = new Map([
  ["+", "-"],
  ["-", "+"],
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["==", "~="],
  ["~=", "=="],
  ["and", "or"],
  ["or", "and"],
]);

type Ranged = Node & { readonly range: readonly [start: number, end: number] };

/** The texts that replace the node. */
function replacements(node: Ranged, textOf: (node: Ranged) => string): string[] {
  if (node.type === "BinaryExpression" || node.type === "LogicalExpression") {
    const other = otherOperator.get(node.operator);
    if (other === undefined) return [];
    const [start] = node.range;
    const [before, after] = [(node.left as Ranged).range[1] - start, (node.right as Ranged).range[0] - start];
    const text = textOf(node);
    const between = text.slice(before, after).replace(node.operator, () => other);
    return [`(${text.slice(0, before)}${between}${text.slice(after)})`];
  }
  if (node.type === "UnaryExpression" && node.operator === "not") return [textOf(node.argument as Ranged)];
  if (node.type === "NumericLiteral") return node.value === 0 ? ["1"] : ["0", `(${textOf(node)} + 1)`];
  return node.type === "BooleanLiteral" ? [String(!node.value)] : [];
}

/** Of a script: the same changes as those of other sources, within one line. */
export function luaMutantsOf(file: string, text: string): Mutant[] {
  const mutants: Mutant[] = [];
  const textOf = ({ range: [start, end] }: Ranged): string => text.slice(start, end);
  const add = (node: Ranged, replacement: string): void => {
    const [start, end] = node.range;
    const original = textOf(node);
    const line = text.slice(0, start).split("\n").length;
    if (!original.includes("\n")) mutants.push({ file, line, start, end, original, replacement });
  };
  const visit = (node: Ranged): void => {
    for (const replacement of replacements(node, textOf)) add(node, replacement);
    if (node.type === "IfClause" || node.type === "ElseifClause")
      for (const value of ["false", "true"]) add(node.condition as Ranged, value);
    for (const part of Object.values(node).flat() as unknown[])
      if (part !== null && typeof part === "object" && "type" in part) visit(part as Ranged);
  };
  visit(luaparse.parse(text, { luaVersion: "5.1", comments: false, ranges: true }) as unknown as Ranged);
  return mutants;
}

/** The line of the change, as the scripts have it, and what stands there in the mutant. */
export function changedLine(text: string, { start, end, replacement }: Mutant): readonly [string, string] {
  const from = text.lastIndexOf("\n", start) + 1;
  const to = `${text}\n`.indexOf("\n", end);
  const changed = text.slice(from, start) + replacement + text.slice(end, to);
  return [text.slice(from, to).trim(), changed.trim()];
}
