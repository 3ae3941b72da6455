import ts from "@typescript/typescript6";
import type { Change } from "./mutant.ts";

/** The text of a file with another in the place that the words lead to. */
export function edited(text: string, words: readonly string[], change: Change): string {
  let part: ts.Node = ts.createSourceFile("client.ts", text, ts.ScriptTarget.Latest, true);
  for (const word of words) {
    const found = find(part, word);
    if (found.length !== 1) throw new Error(`${found.length} places for "${word}"`);
    part = found[0]!;
  }
  const before = part.getText();
  const replacement = typeof change === "string" ? change : change(before);
  if (replacement === before) throw new Error(`"${words.at(-1)}" stays as it is`);
  // In parentheses: an operator beside it shall not take a part of it.
  const written = ts.isExpression(part) ? `(${replacement})` : replacement;
  return `${text.slice(0, part.getStart())}${written}${text.slice(part.end)}`;
}

/** The places within `scope` that a word of an anchor may mean. */
function find(scope: ts.Node, word: string): readonly ts.Node[] {
  if (/^\d/.test(word)) return citing(scope, word);
  const looks = parts.get(word);
  if (!looks) return named(scope, word);
  const found = looks.map((look) => look(scope).filter((node) => node !== undefined));
  return found.find(({ length }) => length > 0) ?? [];
}

/** The declarations, statements or operands directly after a comment that cites the rule. */
function citing(scope: ts.Node, rule: string): readonly ts.Node[] {
  const citation = new RegExp(`PROTOCOL [\\d., /*and]*(?<![\\d.])${rule.replace(".", "\\.")}(?!\\.?\\d)`);
  const { text } = scope.getSourceFile();
  // The comment before a declaration is no part of it; but before a file there is none.
  const seen = new Set(ts.isSourceFile(scope) ? [] : [scope.getFullStart()]);
  return within(scope).filter((node) => {
    const start = node.getFullStart();
    if (seen.has(start)) return false;
    // The outermost of the nodes that begin there.
    seen.add(start);
    const comments = ts.getLeadingCommentRanges(text, start) ?? [];
    return citation.test(comments.map(({ pos, end }) => text.slice(pos, end)).join("\n"));
  });
}

/** The declarations of the name; or else its properties, assignments, calls or accesses. */
function named(scope: ts.Node, name: string): readonly ts.Node[] {
  const nodes = within(scope);
  if (name === "constructor") return nodes.filter(ts.isConstructorDeclaration);
  for (const nameOf of [declaredName, propertyName, assignedName, calledName, accessedName]) {
    const found = nodes.filter((node) => nameOf(node)?.getText() === name);
    if (found.length > 0) return found.map(whole);
  }
  return [];
}

/** A part of a node, if the node has one. */
type PartOf = (node: ts.Node) => ts.Node | undefined;

const declaredName: PartOf = (node) =>
  ts.isFunctionDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isVariableDeclaration(node) ||
  ts.isClassElement(node)
    ? node.name
    : undefined;

const propertyName: PartOf = (node) => (ts.isObjectLiteralElementLike(node) ? node.name : undefined);

const assignedName: PartOf = (node) => (isAssignment(node) ? accessedName(node.left) : undefined);

const calledName: PartOf = (node) =>
  ts.isCallExpression(node) || ts.isNewExpression(node)
    ? (accessedName(node.expression) ?? node.expression)
    : undefined;

const accessedName: PartOf = (node) => (ts.isPropertyAccessExpression(node) ? node.name : undefined);

/** The statement, where that is nothing but this declaration or assignment. */
function whole(node: ts.Node): ts.Node {
  if (isAssignment(node) && ts.isExpressionStatement(node.parent)) return node.parent;
  const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  return ts.isVariableStatement(statement) && statement.declarationList.declarations.length === 1
    ? statement
    : node;
}

function isAssignment(node: ts.Node): node is ts.BinaryExpression {
  if (!ts.isBinaryExpression(node)) return false;
  const { kind } = node.operatorToken;
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}

type Look = (scope: ts.Node) => readonly (ts.Node | undefined)[];

/** Words that mean a part of the place that the words before them mean: the first of these that there is. */
const parts: ReadonlyMap<string, readonly Look[]> = new Map([
  // Of the `if` or `?:` that it is, or has inside, or depends on.
  [
    "condition",
    [
      (scope) => [conditionOf(scope)],
      (scope) => within(scope).map(conditionOf),
      (scope) => [around(scope).map(conditionOf).find(Boolean)],
    ],
  ],
  // Assigned, or else returned.
  ["value", [(scope) => [assignedIn(scope)], (scope) => [scope, ...within(scope)].map(returnedBy)]],
  // With its braces.
  ["body", [(scope) => [ts.isFunctionLike(scope) && "body" in scope ? scope.body : undefined]]],
  // The first one of a call.
  ["argument", [(scope) => [ts.isCallExpression(scope) ? scope.arguments[0] : undefined]]],
  ["callee", [(scope) => [ts.isCallExpression(scope) ? scope.expression : undefined]]],
  // The innermost that it is in.
  ["statement", [(scope) => [around(scope).find(ts.isStatement)]]],
]);

function conditionOf(node: ts.Node): ts.Node | undefined {
  if (ts.isIfStatement(node)) return node.expression;
  return ts.isConditionalExpression(node) ? node.condition : undefined;
}

function assignedIn(node: ts.Node): ts.Node | undefined {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations[0]!.initializer;
  if (ts.isExpressionStatement(node)) return assignedIn(node.expression);
  if (isAssignment(node)) return node.right;
  return ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node) ? node.initializer : undefined;
}

function returnedBy(node: ts.Node): ts.Node | undefined {
  return ts.isReturnStatement(node) ? node.expression : undefined;
}

/** The ancestors of the node, the innermost first. */
function around(node: ts.Node): readonly ts.Node[] {
  return node.parent ? [node.parent, ...around(node.parent)] : [];
}

/** All that is in `scope`, the outer nodes first. */
function within(scope: ts.Node): readonly ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(scope, visit);
  return nodes;
}
