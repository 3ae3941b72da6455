import { createHash } from "node:crypto";
import ts from "@typescript/typescript6";

/** A change of one expression: another operator, a condition that is always or never met, another constant. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly original: string;
  readonly replacement: string;
}

const otherOperator = new Map([
  ["+", "-"],
  ["-", "+"],
  ["*", "/"],
  ["/", "*"],
  ["%", "*"],
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["===", "!=="],
  ["!==", "==="],
  ["&&", "||"],
  ["||", "&&"],
  ["??", "&&"],
  ["+=", "-="],
  ["-=", "+="],
  ["++", "--"],
  ["--", "++"],
]);

/** The texts that replace the node. Strings are left alone: a changed word of a message breaks no promise. */
function replacements(node: ts.Node): string[] {
  if (ts.isBinaryExpression(node)) {
    const other = otherOperator.get(node.operatorToken.getText());
    const isText = [node.left, node.right].some(
      (side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side),
    );
    return other === undefined || isText ? [] : [`(${node.left.getText()} ${other} ${node.right.getText()})`];
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [node.operand.getText()];
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    const other = otherOperator.get(ts.tokenToString(node.operator)!);
    if (other === undefined || other.length === 1) return [];
    const operand = node.operand.getText();
    return [ts.isPrefixUnaryExpression(node) ? `(${other}${operand})` : `(${operand}${other})`];
  }
  if (ts.isNumericLiteral(node)) return Number(node.text) === 0 ? ["1"] : ["0", `(${node.getText()} + 1)`];
  if (node.kind === ts.SyntaxKind.TrueKeyword) return ["false"];
  return node.kind === ts.SyntaxKind.FalseKeyword ? ["true"] : [];
}

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node) || ts.isDoStatement(node)) return node.expression;
  return ts.isConditionalExpression(node) || ts.isForStatement(node) ? node.condition : undefined;
}

function isNoExpression(node: ts.Node): boolean {
  const { parent } = node;
  const isName =
    parent &&
    ((ts.isPropertyAssignment(parent) && parent.name === node) ||
      (ts.isBindingElement(parent) && parent.propertyName === node));
  return isName || ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
}

export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const add = (node: ts.Node, replacement: string): void => {
    const start = node.getStart();
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    mutants.push({ file, line, start, end: node.end, original: node.getText(), replacement });
  };
  const visit = (node: ts.Node): void => {
    if (isNoExpression(node)) return;
    for (const replacement of replacements(node)) add(node, replacement);
    const condition = conditionOf(node);
    if (condition !== undefined && condition.kind !== ts.SyntaxKind.TrueKeyword) {
      add(condition, "false");
      // A loop without an end shows nothing.
      if (!ts.isIterationStatement(node, false)) add(condition, "true");
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return mutants;
}

/** In an order that depends on the seed alone, so that the first ones of them are a sample too. */
export function drawn(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
  const ranks = new Map(
    mutants.map((mutant) => {
      const name = [seed, mutant.file, mutant.start, mutant.end, mutant.replacement].join(" ");
      return [mutant, createHash("sha256").update(name).digest("hex")];
    }),
  );
  return mutants.toSorted((a, b) => (ranks.get(a)! < ranks.get(b)! ? -1 : 1)).slice(0, count);
}

export function mutated(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** The text, with a call of `hit` with the index of each mutant whose expression is evaluated. */
export function observed(
  text: string,
  mutants: readonly (readonly [index: number, mutant: Mutant])[],
): string {
  const before = new Map<number, string>();
  const after = new Map<number, string>();
  for (const [index, { start, end }] of mutants) {
    before.set(start, `${before.get(start) ?? ""}(globalThis.hit(${index}), `);
    after.set(end, `${after.get(end) ?? ""})`);
  }
  const places = [...new Set([0, ...before.keys(), ...after.keys(), text.length])].toSorted((a, b) => a - b);
  const parts = places.map((place, index) => {
    return `${after.get(place) ?? ""}${before.get(place) ?? ""}${text.slice(place, places[index + 1] ?? place)}`;
  });
  return parts.join("");
}

/** Wilson's interval for a share, at 95 %. */
export function interval(hits: number, all: number): readonly [from: number, to: number] {
  const z = 1.96;
  const share = hits / all;
  const middle = share + z ** 2 / (2 * all);
  const half = z * Math.sqrt((share * (1 - share)) / all + z ** 2 / (4 * all ** 2));
  return [(middle - half) / (1 + z ** 2 / all), (middle + half) / (1 + z ** 2 / all)];
}
