import luaparse, {
  type BinaryExpression,
  type CallExpression,
  type Expression,
  type ForGenericStatement,
  type ForNumericStatement,
  type FunctionDeclaration,
  type Identifier,
  type IndexExpression,
  type LogicalExpression,
  type MemberExpression,
  type Node,
  type Statement,
  type TableConstructorExpression,
  type UnaryExpression,
} from "luaparse";
import { redisLibrary } from "../master/redis-library.ts";
import { library } from "./library.ts";

// Lua as JavaScript, on runtime.ts and library.ts. The parser is a development dependency: in a published package all
// scripts are compiled.

/**
 * A script as the text of a function of `redis`, `KEYS` and `ARGV`. An unknown construct is an error that names it. Its
 * functions are made once, not in each run: a script runs to its end before any other.
 */
export function compiled(source: string): string {
  const { body } = luaparse.parse(source, {
    luaVersion: "5.1",
    comments: false,
    locations: true,
    ranges: true,
    encodingMode: "pseudo-latin1",
  });
  return new Compiler(source).script(body);
}

/** The globals that scripts may use: `redis.call`, `type`, `string.match`. */
const globals = new Set(
  Object.entries({ ...library, redis: redisLibrary(() => null) }).flatMap(([name, value]) =>
    typeof value === "function" ? [name] : Object.keys(value).map((member) => `${name}.${member}`),
  ),
);

/** Those of them that may return any number of values. */
const open = new Set(["unpack", "pcall", "string.find", "string.match", "string.gsub"]);

/** Those that JavaScript writes and means in the same way, once both sides are numbers. */
const arithmetic = new Set(["+", "-", "*", "/"]);
const comparisons = new Set(["==", "~=", "<", "<=", ">", ">="]);

/** Before an expression, but not before arguments. */
const bracket = /(?:[^\s\w)\]}"']|\b(?:return|and|or|not|in))\s*\(\s*$/;

function unknown(node: Node, what: string): Error {
  return new Error(`line ${node.loc?.start.line} of the script: ${what} is not known to the compiler`);
}

class Compiler {
  readonly #source: string;
  /** The variables of the blocks around a place, the innermost last: their names in JavaScript by those in Lua. */
  readonly #scopes: Array<Map<string, string>> = [new Map()];
  /**
   * The names known at the place. The JavaScript names of a function end with it: its own begin where those around it are, so
   * that equal functions of two scripts have equal texts, which the packed file has once.
   */
  #own = {
    /** How often each name in Lua has been declared. */
    counts: new Map<string, number>(),
    /**
     * Those that nothing is assigned to: the counter of a loop, always a number; a function that returns one value; another
     * function, which is made once and not in each run.
     */
    kinds: new Map<string, "counter" | "single" | "function">(),
    /** How many variables the function has for values that are needed twice. */
    spares: 0,
    /** Whether all its returns so far are of one value. */
    isSingle: true,
  };
  /** The loops and functions around the place. */
  #depth = 0;
  /** The variables that are declared outside of them. */
  readonly #variables = ["redis", "KEYS", "ARGV"];
  readonly #functions: string[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  script(statements: readonly Statement[]): string {
    for (const name of ["KEYS", "ARGV"]) this.#scopes[0]!.set(name, name);
    const body = this.#function(statements);
    return `(() => {
let ${this.#variables.join(", ")};
${this.#functions.join("\n")}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
${body}};
})()`;
  }

  // Names.

  #declared(name: string): string {
    const own = this.#fresh(name);
    this.#scopes.at(-1)!.set(name, own);
    return own;
  }

  /** Another one for each: JavaScript has reserved words, and lets no block declare a name twice. */
  #fresh(name: string): string {
    const count = (this.#own.counts.get(name) ?? 0) + 1;
    this.#own.counts.set(name, count);
    return `${name}$${count}`;
  }

  #spare(): string {
    this.#own.spares += 1;
    return `$${this.#own.spares}`;
  }

  #variable(name: string): string | undefined {
    return this.#scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  #name(node: Identifier): string {
    const own = this.#variable(node.name);
    if (own === undefined && !globals.has(node.name)) throw unknown(node, node.name);
    return own ?? node.name;
  }

  // Blocks and statements.

  #scoped<T>(inside: () => T): T {
    this.#scopes.push(new Map());
    const result = inside();
    this.#scopes.pop();
    return result;
  }

  /** The same for a loop or a function. */
  #nested<T>(inside: () => T): T {
    this.#depth += 1;
    const result = this.#scoped(inside);
    this.#depth -= 1;
    return result;
  }

  /** The body of a function, with its braces. */
  #function(statements: readonly Statement[]): string {
    const body = statements.map((statement) => this.#statement(statement)).join("\n");
    const spares = Array.from({ length: this.#own.spares }, (_, index) => `$${index + 1}`);
    return `{\n${spares.length > 0 ? `let ${spares.join(", ")};\n` : ""}${body}\n}`;
  }

  #block(statements: readonly Statement[]): string {
    return this.#scoped(
      () => `{\n${statements.map((statement) => this.#statement(statement)).join("\n")}\n}`,
    );
  }

  #statement(node: Statement): string {
    switch (node.type) {
      case "LocalStatement": {
        // The values first: they are outside the scope of the names.
        const values = this.#values(node, node.init, node.variables.length);
        const declared = node.variables.map(({ name }) => this.#declared(name));
        for (const [index, name] of declared.entries())
          if (globals.has(values[index]!) && !open.has(values[index]!)) this.#own.kinds.set(name, "single");
        if (this.#depth === 0) this.#variables.push(...declared);
        const assignments = declared.map((name, index) => `${name} = ${values[index]}`).join(", ");
        return `${this.#depth === 0 ? "" : "let "}${assignments};`;
      }
      case "AssignmentStatement": {
        const values = this.#values(node, node.init, node.variables.length);
        if (values.length === 1) return this.#assignment(node.variables[0]!, values[0]!);
        // The place in a table may depend on a variable that is assigned before it.
        if (new Set(node.variables.map(({ type }) => type === "Identifier")).size > 1)
          throw unknown(node, "an assignment to variables and tables at once");
        const kept = values.map(() => this.#spare());
        const assigned = node.variables.map((target, index) => this.#assignment(target, kept[index]!));
        return [...kept.map((spare, index) => `${spare} = ${values[index]};`), ...assigned].join(" ");
      }
      case "FunctionDeclaration": {
        if (!node.isLocal || node.identifier?.type !== "Identifier") throw unknown(node, "a global function");
        const name = this.#declared(node.identifier.name);
        this.#own.kinds.set(name, "function");
        const text = this.#declaration(node, name);
        if (this.#depth > 0) return text;
        this.#functions.push(text);
        return "";
      }
      case "CallStatement":
        return `${this.#call(node.expression)};`;
      case "ReturnStatement":
        return `return ${this.#returned(node.arguments)};`;
      case "IfStatement":
        return node.clauses
          .map((clause) => {
            if (clause.type === "ElseClause") return this.#block(clause.body);
            return `if (${this.#condition(clause.condition)}) ${this.#block(clause.body)}`;
          })
          .join(" else ");
      case "WhileStatement":
        return `while (${this.#condition(node.condition)}) ${this.#nested(() => this.#block(node.body))}`;
      case "DoStatement":
        return this.#block(node.body);
      case "BreakStatement":
        return "break;";
      case "ForNumericStatement":
        return this.#counting(node);
      case "ForGenericStatement":
        return this.#iterating(node);
      default:
        throw unknown(node, node.type);
    }
  }

  #assignment(target: IndexExpression | MemberExpression | Identifier, value: string): string {
    if (target.type !== "Identifier")
      return `set(${this.#expression(target.base)}, ${this.#key(target)}, ${value});`;
    const name = this.#variable(target.name);
    if (name === undefined || this.#own.kinds.has(name))
      throw unknown(target, `an assignment to ${target.name}`);
    return `${name} = ${value};`;
  }

  #declaration({ parameters, body }: FunctionDeclaration, name: string): string {
    const around = this.#own;
    const own = { counts: new Map(around.counts), kinds: new Map(around.kinds), spares: 0, isSingle: true };
    this.#own = own;
    const text = this.#nested(() => {
      const names = parameters.map((parameter) => {
        if (parameter.type !== "Identifier") throw unknown(parameter, parameter.type);
        return this.#declared(parameter.name);
      });
      return `function ${name}(${names.join(", ")}) ${this.#function(body)}`;
    });
    this.#own = around;
    if (own.isSingle) around.kinds.set(name, "single");
    return text;
  }

  #returned(values: readonly Expression[]): string {
    const [only] = values;
    if (!only) return "";
    if (values.length === 1 && !this.#isOpen(only)) return this.#expression(only);
    this.#own.isSingle = false;
    return values.length === 1 ? this.#call(only) : `new Several([${this.#list(values)}])`;
  }

  #counting({ variable, start, end, step, body }: ForNumericStatement): string {
    const by = step === null ? 1 : constant(step);
    if (by === undefined) throw unknown(step!, "a step that is no number");
    const [from, to] = [this.#number(start), this.#number(end)];
    return this.#nested(() => {
      const [counter, last] = [this.#declared(variable.name), this.#fresh("last")];
      this.#own.kinds.set(counter, "counter");
      const goesOn = `${counter} ${by < 0 ? ">=" : "<="} ${last}`;
      return `for (let ${counter} = ${from}, ${last} = ${to}; ${goesOn}; ${counter} += ${by}) ${this.#block(body)}`;
    });
  }

  #iterating({ iterators, variables, body }: ForGenericStatement): string {
    const [iterator] = iterators;
    const kind = iterator?.type === "CallExpression" ? pathOf(iterator.base) : undefined;
    if (iterators.length !== 1 || (kind !== "ipairs" && kind !== "string.gmatch"))
      throw unknown(iterator!, "a loop over something else than ipairs or string.gmatch");
    const over = this.#list((iterator as CallExpression).arguments);
    return this.#nested(() => {
      const names = variables.map(({ name }) => this.#declared(name));
      if (kind === "string.gmatch")
        return `for (let [${names.join(", ")}] of matches(${over})) ${this.#block(body)}`;
      const [index, value = this.#fresh("value")] = names as [string, string?];
      this.#own.kinds.set(index, "counter");
      const table = this.#fresh("table");
      const next = `(${value} = get(${table}, ${index})) !== undefined`;
      return `for (let ${index} = 1, ${table} = ${over}, ${value}; ${next}; ${index} += 1) ${this.#block(body)}`;
    });
  }

  // Expressions.

  /** As many values as are wanted, in their order. */
  #values(node: Node, expressions: readonly Expression[], wanted: number): readonly string[] {
    if (expressions.length > wanted) throw unknown(node, "a value without a variable");
    const last = expressions.at(-1);
    if (expressions.length === wanted || !last || !this.#isOpen(last)) {
      const values = expressions.map((expression) => this.#expression(expression));
      return [...values, ...Array.from({ length: wanted - values.length }, () => "undefined")];
    }
    const first = expressions.slice(0, -1).map((expression) => this.#expression(expression));
    const spare = this.#spare();
    const rest = Array.from({ length: wanted - first.length - 1 }, (_, index) => `${spare}[${index + 1}]`);
    return [...first, `(${spare} = all(${this.#call(last)}))[0]`, ...rest];
  }

  /** Arguments, or what else stands in a row: of the last one all values. */
  #list(expressions: readonly Expression[]): string {
    return expressions
      .map((expression, index) => {
        const isOpen = index === expressions.length - 1 && this.#isOpen(expression);
        return isOpen ? `...all(${this.#call(expression)})` : this.#expression(expression);
      })
      .join(", ");
  }

  /** A call that may have any number of values. */
  #mayHaveMore(node: Expression): boolean {
    if (node.type !== "CallExpression") return false;
    const path = pathOf(node.base);
    if (path === undefined) return true;
    const own = this.#variable(path);
    return own === undefined ? open.has(path) || !globals.has(path) : this.#own.kinds.get(own) !== "single";
  }

  /** The same where it stands last: with brackets around it, which the parser drops, it has one value. */
  #isOpen(node: Expression): boolean {
    if (!this.#mayHaveMore(node)) return false;
    const [start] = (node as Expression & { readonly range: readonly [number, number] }).range;
    return !bracket.test(this.#source.slice(0, start));
  }

  #call(node: Expression): string {
    if (node.type !== "CallExpression") throw unknown(node, node.type);
    return `${this.#expression(node.base)}(${this.#list(node.arguments)})`;
  }

  /** One value. */
  #expression(node: Expression): string {
    switch (node.type) {
      case "Identifier":
        return this.#name(node);
      case "StringLiteral":
        return JSON.stringify(node.value);
      case "NumericLiteral":
      case "BooleanLiteral":
        return String(node.value);
      case "NilLiteral":
        return "undefined";
      case "CallExpression":
        return this.#mayHaveMore(node) ? `one(${this.#call(node)})` : this.#call(node);
      case "MemberExpression":
        return this.#member(node);
      case "IndexExpression":
        return `get(${this.#expression(node.base)}, ${this.#key(node)})`;
      case "UnaryExpression":
        return this.#unary(node);
      case "BinaryExpression":
        return this.#binary(node);
      case "LogicalExpression":
        return this.#choice(node);
      case "TableConstructorExpression":
        return this.#table(node);
      case "FunctionDeclaration":
        return this.#declaration(node, "");
      default:
        throw unknown(node, node.type);
    }
  }

  #key(node: IndexExpression | MemberExpression): string {
    return node.type === "IndexExpression"
      ? this.#expression(node.index)
      : JSON.stringify(node.identifier.name);
  }

  #member(node: MemberExpression): string {
    const { base, indexer, identifier } = node;
    if (indexer === ":") throw unknown(node, `the method ${identifier.name}`);
    const path = pathOf(node);
    if (path === undefined || this.#variable((base as Identifier).name) !== undefined)
      return `get(${this.#expression(base)}, ${this.#key(node)})`;
    if (!globals.has(path)) throw unknown(node, path);
    return path;
  }

  #unary(node: UnaryExpression): string {
    const { operator, argument } = node;
    if (operator === "not") return `!${this.#condition(argument)}`;
    if (operator === "#") return `length(${this.#expression(argument)})`;
    if (operator === "-") return `(-${this.#number(argument)})`;
    throw unknown(node, operator);
  }

  #binary(node: BinaryExpression): string {
    const { operator, left, right } = node;
    if (operator === "..") return `(${this.#text(left)} + ${this.#text(right)})`;
    if (operator === "%") return `modulo(${this.#number(left)}, ${this.#number(right)})`;
    if (operator === "^") return `((${this.#number(left)}) ** ${this.#number(right)})`;
    if (arithmetic.has(operator)) return `(${this.#number(left)} ${operator} ${this.#number(right)})`;
    const [one, other] = [this.#expression(left), this.#expression(right)];
    if (operator === "==") return `(${one} === ${other})`;
    if (operator === "~=") return `(${one} !== ${other})`;
    if (this.#isNumber(left) && this.#isNumber(right) && comparisons.has(operator))
      return `(${one} ${operator} ${other})`;
    if (comparisons.has(operator)) return `(compared(${one}, ${other}) ${operator} 0)`;
    throw unknown(node, operator);
  }

  /** `and` and `or`: one of the two values. */
  #choice(node: LogicalExpression): string {
    if (isBoolean(node)) return this.#condition(node);
    const { operator, left, right } = node;
    const [first, second] = [this.#expression(left), this.#expression(right)];
    const isName = left.type === "Identifier";
    const kept = isName ? first : this.#spare();
    const test = isBoolean(left)
      ? `(${kept} = ${first})`
      : `isTrue(${isName ? first : `${kept} = ${first}`})`;
    return operator === "and" ? `(${test} ? ${second} : ${kept})` : `(${test} ? ${kept} : ${second})`;
  }

  #table({ fields }: TableConstructorExpression): string {
    const values = fields.flatMap((field) => (field.type === "TableValue" ? [field.value] : []));
    for (const { type, key } of fields.filter((field) => field.type === "TableKey")) {
      // In Lua the list wins.
      const isOther = key.type === "StringLiteral" || (constant(key) ?? 0) > values.length;
      if (values.length > 0 && !isOther) throw unknown(key, `a ${type} beside a list`);
    }
    const named = fields.map((field) => {
      if (field.type === "TableValue") return "";
      const key =
        field.type === "TableKeyString" ? JSON.stringify(field.key.name) : this.#expression(field.key);
      return `.set(${key}, ${this.#expression(field.value)})`;
    });
    return `new Table([${this.#list(values)}])${named.join("")}`;
  }

  /** As a condition of JavaScript. */
  #condition(node: Expression): string {
    if (node.type === "LogicalExpression") {
      const operator = node.operator === "and" ? "&&" : "||";
      return `(${this.#condition(node.left)} ${operator} ${this.#condition(node.right)})`;
    }
    return isBoolean(node) ? this.#expression(node) : `isTrue(${this.#expression(node)})`;
  }

  #number(node: Expression): string {
    return this.#isNumber(node) ? this.#expression(node) : `number(${this.#expression(node)})`;
  }

  #isNumber(node: Expression): boolean {
    if (node.type === "Identifier") return this.#own.kinds.get(this.#variable(node.name) ?? "") === "counter";
    if (node.type === "BinaryExpression") return node.operator !== ".." && !comparisons.has(node.operator);
    return node.type === "NumericLiteral" || (node.type === "UnaryExpression" && node.operator !== "not");
  }

  #text(node: Expression): string {
    const isText =
      node.type === "StringLiteral" || (node.type === "BinaryExpression" && node.operator === "..");
    return isText ? this.#expression(node) : `text(${this.#expression(node)})`;
  }
}

function isBoolean(node: Expression): boolean {
  if (node.type === "LogicalExpression") return isBoolean(node.left) && isBoolean(node.right);
  if (node.type === "UnaryExpression") return node.operator === "not";
  return (
    node.type === "BooleanLiteral" || (node.type === "BinaryExpression" && comparisons.has(node.operator))
  );
}

function constant(node: Expression): number | undefined {
  if (node.type === "NumericLiteral") return node.value;
  const isNegative = node.type === "UnaryExpression" && node.operator === "-";
  return isNegative && node.argument.type === "NumericLiteral" ? -node.argument.value : undefined;
}

/** `ipairs`, `string.match`. */
function pathOf(node: Expression): string | undefined {
  if (node.type === "Identifier") return node.name;
  const isPlain = node.type === "MemberExpression" && node.base.type === "Identifier";
  return isPlain ? `${(node.base as Identifier).name}.${node.identifier.name}` : undefined;
}
