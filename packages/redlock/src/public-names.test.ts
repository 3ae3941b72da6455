import { join } from "node:path";
import ts from "@typescript/typescript6";
import { expect, test } from "vitest";

// The public names stay few and complete: users can name each type that appears in a signature. Names of values and
// of types count alike.

const most = 42;

/** The parts of a LockNode are exported by the subpath `internal`; in the public names it counts as one name. */
const opaque = "LockNode";

const files = ["index.ts", "redis/internal.ts"].map((file) => join(import.meta.dirname, file));
const program = ts.createProgram(files, {
  allowImportingTsExtensions: true,
  module: ts.ModuleKind.Node20,
  noEmit: true,
  // Types of the language are skipped.
  noLib: true,
  types: [],
});
const checker = program.getTypeChecker();

const [publicNames, internalNames] = files.map((file) => {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!;
  const exported = checker
    .getExportsOfModule(module)
    .map((symbol) => [symbol.name, declared(symbol)] as const);
  return new Map(exported);
}) as [Map<string, ts.Symbol>, Map<string, ts.Symbol>];

/** The symbol that an import or an export refers to. */
function declared(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function isHidden(node: ts.Node): boolean {
  if (ts.isBlock(node) || ts.isClassStaticBlockDeclaration(node)) return true;
  if (ts.isClassElement(node) && node.name && ts.isPrivateIdentifier(node.name)) return true;
  return ts.getJSDocTags(node).some((tag) => tag.tagName.text === "internal");
}

/** The types of this package in the signatures of `symbol`; of a base class only its type arguments. */
function mentionedBy(symbol: ts.Symbol): Set<ts.Symbol> {
  const found = new Set<ts.Symbol>();
  const note = (name: ts.Node): void => {
    const mentioned = checker.getSymbolAtLocation(name);
    if (!mentioned) return;
    const type = declared(mentioned);
    if (type.declarations && !(type.flags & ts.SymbolFlags.TypeParameter)) found.add(type);
  };
  const visit = (node: ts.Node): void => {
    if (isHidden(node)) return;
    if (ts.isTypeReferenceNode(node)) note(node.typeName);
    if (ts.isTypeQueryNode(node)) note(node.exprName);
    ts.forEachChild(node, visit);
  };
  for (const declaration of symbol.declarations ?? []) visit(declaration);
  return found;
}

/** All types reachable from these; those in `closed` are not searched. */
function metFrom(symbols: Iterable<ts.Symbol>, closed: ReadonlySet<ts.Symbol>): Set<ts.Symbol> {
  const met = new Set<ts.Symbol>();
  const open = [...symbols].flatMap((symbol) => [...mentionedBy(symbol)]);
  for (let next = open.pop(); next; next = open.pop()) {
    if (met.has(next)) continue;
    met.add(next);
    if (!closed.has(next)) open.push(...mentionedBy(next));
  }
  return met;
}

function namesOf(symbols: Iterable<ts.Symbol>): string[] {
  return [...symbols].map(({ name }) => name).sort();
}

const node = publicNames.get(opaque)!;
const values = [...publicNames.values()].filter(({ flags }) => flags & ts.SymbolFlags.Value);
/** The members that Quorlock uses of a client are left out: users have the library's own type. */
const client = publicNames.get("RedisClient")!;
const met = metFrom(values, new Set([node, client]));
const known = new Set(publicNames.values());

test(`at most ${most} names are public`, () => {
  expect(publicNames.size).toBeGreaterThan(values.length);
  expect(publicNames.size, [...publicNames.keys()].sort().join(" ")).toBeLessThanOrEqual(most);
});

test("each type in a public signature has a public name", () => {
  expect(namesOf([...met].filter((type) => !known.has(type)))).toEqual([]);
});

test("each public type appears in a public signature", () => {
  const types = [...known].filter((type) => !values.includes(type));
  expect(namesOf(types.filter((type) => !met.has(type)))).toEqual([]);
});

test("each type in a LockNode or a Connection has a name", () => {
  const internal = new Set(internalNames.values());
  const parts = metFrom([node, internalNames.get("Connection")!], known);
  expect(parts.size).toBeGreaterThan(0);
  expect(namesOf([...parts].filter((type) => !internal.has(type) && !known.has(type)))).toEqual([]);
  expect(namesOf([...internal].filter((name) => known.has(name)))).toEqual([opaque]);
});
