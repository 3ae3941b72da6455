import type { CallExpression, Chunk, Expression, FunctionDeclaration, Statement } from "luaparse";
import luaparse from "luaparse";

/** A command as a script has it: its name, and its arguments as they are written. */
export interface Command {
  readonly name: string;
  readonly args: readonly string[];
}

/** The state at one point of a script, and one path to it: the commands that were executed. */
interface Run<State> {
  readonly state: State;
  readonly path: readonly string[];
}

/** The ways out of a piece of a script. */
interface Exits<State> {
  readonly next: readonly Run<State>[];
  readonly broken: readonly Run<State>[];
  readonly returned: readonly Run<State>[];
  readonly failed: readonly Run<State>[];
}

/** The state of a search. It is small and plain: two that print alike are one. */
export interface Tracker<State> {
  readonly start: State;
  /** `command` is about to run. The state after it was executed; it may be refused instead. */
  execute(state: State, command: Command, path: readonly string[]): State;
}

/** Of Lua and Redis, what runs no command. */
const harmless = new Set([
  ...["tonumber", "tostring", "type", "unpack", "ipairs", "pairs"],
  ...[
    "redis.error_reply",
    "redis.replicate_commands",
    "redis.acl_check_cmd",
    "check",
    "redis.set_repl",
    "table.concat",
    "table.insert",
    "table.remove",
  ],
  ...[
    "string.match",
    "string.gmatch",
    "string.find",
    "string.gsub",
    "string.sub",
    "string.format",
    "string.rep",
    "string.lower",
  ],
  ...["math.max", "math.min", "math.floor", "math.ceil"],
]);

/**
 * Runs a script on every path that its text allows: each branch both ways, each loop any number of times, each command
 * executed or refused. The result of a condition does not count. Fails if a called command is unknown.
 */
export class Paths<State> {
  readonly #source: string;
  readonly #tracker: Tracker<State>;
  readonly #functions = new Map<string, FunctionDeclaration>();
  readonly #known = new Map<FunctionDeclaration, Map<string, Exits<State>>>();

  constructor(source: string, tracker: Tracker<State>) {
    this.#source = source;
    this.#tracker = tracker;
  }

  explore(): void {
    const chunk: Chunk = luaparse.parse(this.#source, {
      luaVersion: "5.1",
      ranges: true,
      encodingMode: "pseudo-latin1",
    });
    this.#block(chunk.body, [{ state: this.#tracker.start, path: [] }]);
  }

  #block(statements: readonly Statement[], runs: readonly Run<State>[]): Exits<State> {
    let here: Exits<State> = { ...nowhere, next: runs };
    for (const statement of statements) here = joined(here, this.#statement(statement, here.next));
    return here;
  }

  #statement(statement: Statement, runs: readonly Run<State>[]): Exits<State> {
    switch (statement.type) {
      case "LocalStatement":
        for (const [place, { name }] of statement.variables.entries()) {
          const value = statement.init[place];
          const named = value?.type === "Identifier" ? this.#functions.get(value.name) : undefined;
          if (named) this.#functions.set(name, named);
        }
        return this.#expressions([...statement.init, ...statement.variables], runs);
      case "AssignmentStatement":
        return this.#expressions([...statement.init, ...statement.variables], runs);
      case "CallStatement":
        return this.#expression(statement.expression, runs);
      case "ReturnStatement": {
        const { next, ...rest } = this.#expressions(statement.arguments, runs);
        return { ...rest, next: [], returned: [...rest.returned, ...next] };
      }
      case "BreakStatement":
        return { ...nowhere, broken: runs };
      case "DoStatement":
        return this.#block(statement.body, runs);
      case "IfStatement":
        return this.#branches(statement.clauses, runs);
      case "FunctionDeclaration":
        this.#functions.set(nameOf(statement.identifier), statement);
        return { ...nowhere, next: runs };
      case "WhileStatement":
        return this.#loop(statement.condition, statement.body, runs);
      case "ForNumericStatement":
        return this.#for([statement.start, statement.end], statement.body, runs);
      case "ForGenericStatement":
        return this.#for(statement.iterators, statement.body, runs);
      default:
        throw new Error(`a statement that is not understood: ${this.#text(statement)}`);
    }
  }

  #branches(
    clauses: Extract<Statement, { type: "IfStatement" }>["clauses"],
    runs: readonly Run<State>[],
  ): Exits<State> {
    let here: Exits<State> = { ...nowhere, next: runs };
    let after: Exits<State> = nowhere;
    for (const clause of clauses) {
      if (clause.type !== "ElseClause") here = joined(here, this.#expression(clause.condition, here.next));
      after = together(after, this.#block(clause.body, here.next));
      if (clause.type === "ElseClause") here = { ...here, next: [] };
    }
    return together(here, after);
  }

  #for(bounds: readonly Expression[], body: readonly Statement[], runs: readonly Run<State>[]): Exits<State> {
    const entered = this.#expressions(bounds, runs);
    return joined(entered, this.#loop(undefined, body, entered.next));
  }

  /** Until no further state comes up at its beginning. Without a condition: any number of times. */
  #loop(
    condition: Expression | undefined,
    body: readonly Statement[],
    runs: readonly Run<State>[],
  ): Exits<State> {
    const isEndless = condition?.type === "BooleanLiteral" && condition.value;
    const seen = new Set<string>();
    let after: Exits<State> = nowhere;
    let fresh = runs;
    while (fresh.length > 0) {
      for (const { state } of fresh) seen.add(keyOf(state));
      const asked = condition ? this.#expression(condition, fresh) : { ...nowhere, next: fresh };
      const { next, broken, ...out } = joined(asked, this.#block(body, asked.next));
      after = together(after, { ...out, next: [...broken, ...(isEndless ? [] : asked.next)], broken: [] });
      fresh = unique(next).filter(({ state }) => !seen.has(keyOf(state)));
    }
    return after;
  }

  #expressions(expressions: readonly Expression[], runs: readonly Run<State>[]): Exits<State> {
    let here: Exits<State> = { ...nowhere, next: runs };
    for (const expression of expressions) here = joined(here, this.#expression(expression, here.next));
    return here;
  }

  #expression(expression: Expression, runs: readonly Run<State>[]): Exits<State> {
    switch (expression.type) {
      case "CallExpression":
        return this.#call(expression, runs);
      case "LogicalExpression": {
        const left = this.#expression(expression.left, runs);
        return together(left, this.#expression(expression.right, left.next));
      }
      case "BinaryExpression":
        return this.#expressions([expression.left, expression.right], runs);
      case "UnaryExpression":
        return this.#expression(expression.argument, runs);
      case "IndexExpression":
        return this.#expressions([expression.base, expression.index], runs);
      case "MemberExpression":
        return this.#expression(expression.base, runs);
      case "TableConstructorExpression":
        return this.#expressions(
          expression.fields.flatMap((field) =>
            field.type === "TableKey" ? [field.key, field.value] : [field.value],
          ),
          runs,
        );
      case "FunctionDeclaration":
      case "StringCallExpression":
      case "TableCallExpression":
        throw new Error(`an expression that is not understood: ${this.#text(expression)}`);
      default:
        return { ...nowhere, next: runs };
    }
  }

  #call(call: CallExpression, runs: readonly Run<State>[]): Exits<State> {
    const name = nameOf(call.base);
    if (name === "call" || name === "redis.call" || name === "redis.pcall") {
      return this.#command(call, name === "redis.pcall", runs);
    }
    if (name === "pcall") {
      const [called, ...rest] = call.arguments;
      const args = this.#expressions(rest, runs);
      const { failed, ...run } = this.#run(nameOf(called), args.next);
      return joined(args, { ...run, next: unique([...run.next, ...failed]), failed: [] });
    }
    const args = this.#expressions(call.arguments, runs);
    if (name === "error") return { ...args, next: [], failed: [...args.failed, ...args.next] };
    if (harmless.has(name)) return args;
    return joined(args, this.#run(name, args.next));
  }

  #command(call: CallExpression, isCaught: boolean, runs: readonly Run<State>[]): Exits<State> {
    const [first, ...rest] = call.arguments;
    if (first?.type !== "StringLiteral") throw new Error(`which command is it? ${this.#text(call)}`);
    const args = this.#expressions(rest, runs);
    const command = { name: first.value, args: rest.map((one) => this.#text(one)) };
    const said = [command.name, ...command.args].join(" ");
    const done = args.next.map(({ state, path }) => ({
      state: this.#tracker.execute(state, command, path),
      path: [...path, said],
    }));
    const refused = args.next.map(({ state, path }) => ({ state, path: [...path, `${said} (refused)`] }));
    const outcome = isCaught ? { next: [...done, ...refused] } : { next: done, failed: refused };
    return joined(args, { ...nowhere, ...outcome });
  }

  /** A function of the script's. Where it leads from a state is found out once. */
  #run(name: string, runs: readonly Run<State>[]): Exits<State> {
    const called = this.#functions.get(name);
    if (!called) throw new Error(`what does ${name} do?`);
    const known = this.#known.get(called) ?? new Map<string, Exits<State>>();
    this.#known.set(called, known);
    let after: Exits<State> = nowhere;
    for (const { state, path } of unique(runs)) {
      const key = keyOf(state);
      let exits = known.get(key);
      if (!exits) {
        const { next, returned, ...out } = this.#block(called.body, [{ state, path: [] }]);
        exits = { ...out, next: unique([...next, ...returned]), returned: [] };
        known.set(key, exits);
      }
      after = together(after, behind(path, exits));
    }
    return after;
  }

  #text(node: object): string {
    const [from, to] = (node as { range: [number, number] }).range;
    return this.#source.slice(from, to);
  }
}

const nowhere: Exits<never> = { next: [], broken: [], returned: [], failed: [] };

const keyOf = (state: unknown): string => JSON.stringify(state);

/** One run for each state, with the shortest of its paths. */
function unique<State>(runs: readonly Run<State>[]): readonly Run<State>[] {
  if (runs.length < 2) return runs;
  const best = new Map<string, Run<State>>();
  for (const run of runs) {
    const other = best.get(keyOf(run.state));
    if (!other || run.path.length < other.path.length) best.set(keyOf(run.state), run);
  }
  return [...best.values()];
}

/** First the one, then the other: what goes on goes on from the second. */
function joined<State>(first: Exits<State>, second: Exits<State>): Exits<State> {
  return { ...together(first, second), next: unique(second.next) };
}

/** The one or the other. */
function together<State>(one: Exits<State>, other: Exits<State>): Exits<State> {
  const both = (way: keyof Exits<State>) => {
    if (one[way].length === 0) return other[way];
    return other[way].length === 0 ? one[way] : unique([...one[way], ...other[way]]);
  };
  return { next: both("next"), broken: both("broken"), returned: both("returned"), failed: both("failed") };
}

function behind<State>(path: readonly string[], exits: Exits<State>): Exits<State> {
  const put = (runs: readonly Run<State>[]) =>
    runs.map((run) => ({ state: run.state, path: [...path, ...run.path] }));
  return {
    next: put(exits.next),
    broken: put(exits.broken),
    returned: put(exits.returned),
    failed: put(exits.failed),
  };
}

/** "call", "redis.call": what is called by no name is not understood. */
function nameOf(expression: Expression | FunctionDeclaration["identifier"] | undefined): string {
  if (expression?.type === "Identifier") return expression.name;
  if (expression?.type === "MemberExpression")
    return `${nameOf(expression.base)}.${expression.identifier.name}`;
  return "(something without a name)";
}
