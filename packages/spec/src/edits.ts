// Small faults, put into the text of a module by a script: each guard left out, each comparison and bound weakened.

/** One fault: what stands at a place of a module, and what in its place. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
  /** The definition, what it has, and what it has instead. The same at a second place of a definition has a number. */
  readonly name: string;
}

/** TLC's judgement of one. */
export interface Judged {
  readonly module: string;
  readonly edit: Edit;
  /** The property that refutes it; `undefined` if it is accepted. */
  readonly refuted: string | undefined;
  /** Why an accepted one is no fault. */
  readonly why: string | undefined;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

interface Definition extends Span {
  readonly name: string;
}

/** The ends of an operand of a conjunction, at either side. */
const edges = /\/\\|\\\/|=>|:|,|\|->|==|\b(?:IF|THEN|ELSE|IN|UNCHANGED)\b/y;
/** A conjunct in a line of its own may be a disjunction. */
const conjunctEdges = new RegExp(edges.source.replace(String.raw`|\\\/`, ""), "y");
const opens = /^(?:[([{]|<<)/;
const closes = /^(?:[)\]}]|>>)/;
const bullet = /\n\s*(?:\/\\|\\\/)/y;
const isTruth = /^(?:~|\\[AE] |[^[{(]* (?:=|#|<|>|<=|>=|\\in|\\notin) )/;

/** The faults in what a module says of the protocol: its definitions between its variables and its `Spec`. */
export function editsIn(module: string, actionsElsewhere: ReadonlySet<string>): readonly Edit[] {
  const text = withoutComments(module);
  const definitions = definitionsIn(text).filter(
    ({ name }) => !/vars$|Init$|Next$|^Max$|^Fairness$/i.test(name),
  );
  const actions = new Set([...actionsElsewhere, ...actionsIn(module)]);
  const isGuard = ({ from, to }: Span): boolean => {
    const part = text.slice(from, to);
    const isWhole = part !== "" && !/^\s*:/.test(text.slice(to)) && !part.endsWith(":");
    return (
      isWhole &&
      !/'|\bUNCHANGED\b/.test(part) &&
      !(part.match(/\w+/g) ?? []).some((word) => actions.has(word))
    );
  };
  const edits = new Map<string, Edit>();
  const counted = new Map<string, number>();
  const add = ({ name }: Definition, { from, to }: Span, by: string): void => {
    const key = `${from} ${to} ${by}`;
    if (edits.has(key) || text.slice(from, to) === by) return;
    const words = `${name}: ${shown(text.slice(from, to))} -> ${shown(by)}`;
    const count = (counted.get(words) ?? 0) + 1;
    counted.set(words, count);
    edits.set(key, { from, to, by, name: count === 1 ? words : `${words} (${count})` });
  };
  for (const definition of definitions) {
    for (const [span, by] of guardsOf(text, definition)) if (isGuard(span)) add(definition, span, by);
    for (const [span, by] of boundsOf(text, definition)) add(definition, span, by);
  }
  return [...edits.values()];
}

/** The module with all of these in it: the variable `edit` says which of them is there. */
export function editedModule(module: string, edits: readonly Edit[]): string {
  // Of two that begin at one place the larger first: each is around those that follow within it.
  const sorted = edits.toSorted((one, other) => one.from - other.from || other.to - one.to);
  const render = (from: number, to: number, list: readonly Edit[]): string => {
    const [edit, ...rest] = list;
    if (!edit) return module.slice(from, to);
    const within = rest.filter((one) => one.from < edit.to);
    const old = render(edit.from, edit.to, within);
    const choice = `(IF edit = ${edits.indexOf(edit) + 1} THEN ${edit.by} ELSE ${old})`;
    return module.slice(from, edit.from) + choice + render(edit.to, to, rest.slice(within.length));
  };
  return render(0, module.length, sorted).replace(/^VARIABLE/m, "VARIABLE edit\nVARIABLE");
}

/** The definitions that are steps: they have primes, or call such. */
export function actionsIn(module: string): ReadonlySet<string> {
  const text = withoutComments(module);
  const actions = new Set<string>();
  for (const { name, from, to } of definitionsIn(text)) {
    const body = text.slice(from, to);
    if (/'|\bUNCHANGED\b/.test(body) || (body.match(/\w+/g) ?? []).some((word) => actions.has(word)))
      actions.add(name);
  }
  return actions;
}

function withoutComments(module: string): string {
  return module.replace(/\\\*[^\n]*/g, (comment) => " ".repeat(comment.length));
}

/** In Lock the steps of a search, which have its bounds, begin with Asks. */
function definitionsIn(text: string): Definition[] {
  const end = text.search(/^(?:Asks\(|\w*Spec ==)/m);
  const heads = [...text.slice(0, end).matchAll(/^([A-Z]\w*|\w*[vV]ars)(?:\([^)=]*\))? ==/gm)];
  return heads.map((head, index) => {
    const to = heads[index + 1]?.index ?? end;
    return { name: head[1]!, from: head.index + head[0].length, to };
  });
}

/** Each conjunct left out, each disjunct, each condition, and each part of a set that is chosen by a condition. */
function guardsOf(text: string, { from, to }: Span): [Span, string][] {
  const found: [Span, string][] = [];
  const body = text.slice(from, to);
  for (const { index, 0: operator } of body.matchAll(/\/\\|\\\//g)) {
    const at = from + index;
    const by = operator === "/\\" ? "TRUE" : "FALSE";
    const isBullet = /\n\s*$/.test(text.slice(from, at));
    if (operator === "\\/" && isBullet) continue;
    if (!isBullet) found.push([operandBefore(text, at, from), by]);
    found.push([operandAfter(text, at + 2, to, isBullet ? conjunctEdges : edges), by]);
  }
  for (const { index } of body.matchAll(/\bIF\b/g)) {
    const condition = trimmed(text, from + index + 2, closing(text, from + index + 2, to, /\bTHEN\b/y));
    found.push([condition, "TRUE"], [condition, "FALSE"]);
  }
  for (const { index, 0: word } of body.matchAll(/\b(?:THEN|ELSE)\b/g)) {
    const branch = operandAfter(text, from + index + word.length, to);
    if (isTruth.test(text.slice(branch.from, branch.to))) found.push([branch, "TRUE"]);
  }
  for (const { index, 0: head } of body.matchAll(/\{\w+ \\in [^:{}]*(?:\{[^{}]*\})?[^:{}]* : /g)) {
    const start = from + index + head.length;
    found.push([trimmed(text, start, closing(text, start, to, /$^/y)), "TRUE"]);
  }
  return found;
}

/** Each comparison and each quorum by one less, each addition of one left out, and of each maximum either part alone. */
function boundsOf(text: string, { from, to }: Span): [Span, string][] {
  const found: [Span, string][] = [];
  const body = text.slice(from, to);
  for (const { index, 0: operator } of body.matchAll(/ [<>] /g)) {
    const [left, right] = [operandBefore(text, from + index, from), operandAfter(text, from + index + 2, to)];
    const part = (span: Span): string => text.slice(span.from, span.to);
    if (/'/.test(part(left) + part(right))) continue;
    found.push([{ from: left.from, to: right.to }, `${part(left)} ${operator.trim()}= ${part(right)}`]);
  }
  for (const { index, 0: word } of body.matchAll(/\bQuorum\b(?!\w)/g)) {
    const start = from + index;
    const end =
      text[start + word.length] === "("
        ? closing(text, start + word.length + 1, to, /$^/y) + 1
        : start + word.length;
    found.push([{ from: start, to: end }, `${text.slice(start, end)} - 1`]);
  }
  for (const { index, 0: sum } of body.matchAll(/[+-] 1\b(?!\.)|(?<![\w.])1 \+/g)) {
    const at = from + index + sum.indexOf("1");
    found.push([{ from: at, to: at + 1 }, "0"]);
  }
  for (const { index } of body.matchAll(/\bMax\(/g)) {
    const start = from + index + 4;
    const end = closing(text, start, to, /$^/y);
    const comma = closing(text, start, end, /,/y);
    for (const [first, last] of [
      [start, comma],
      [comma + 1, end],
    ] as const)
      found.push([{ from: start - 4, to: end + 1 }, text.slice(first, last).trim()]);
  }
  return found;
}

function operandAfter(text: string, start: number, end: number, stop: RegExp = edges): Span {
  const isQuantified = /^\s*\\[AE]/.test(text.slice(start, end));
  return trimmed(text, start, closing(text, start, end, isQuantified ? bullet : stop));
}

function operandBefore(text: string, at: number, start: number): Span {
  let depth = 0;
  let from = at;
  while (from > start) {
    const two = text.slice(from - 1, from + 1);
    if (closes.test(two)) depth += 1;
    else if (opens.test(two)) {
      if (depth === 0) break;
      depth -= 1;
    } else if (depth === 0 && isEdge(text, from - 1)) break;
    from -= 1;
  }
  return trimmed(text, from, at);
}

function isEdge(text: string, at: number): boolean {
  return (
    /(?:\/\\|\\\/|=>|:|,|->|==|\b(?:IF|THEN|ELSE|IN|UNCHANGED))$/.test(
      text.slice(Math.max(0, at - 9), at + 1),
    ) || text[at] === "\n"
  );
}

/** Where the brackets that are open at `start` close, or `stop` is found outside of others. */
function closing(text: string, start: number, end: number, stop: RegExp): number {
  let depth = 0;
  for (let at = start; at < end; at += 1) {
    stop.lastIndex = at;
    bullet.lastIndex = at;
    if (depth === 0 && at > start && (stop.test(text) || bullet.test(text))) return at;
    if (opens.test(text.slice(at, at + 2))) depth += 1;
    else if (closes.test(text.slice(at, at + 2))) {
      if (depth === 0) return at;
      depth -= 1;
    }
  }
  return end;
}

function trimmed(text: string, from: number, to: number): Span {
  const part = text.slice(from, to);
  return {
    from: from + part.length - part.trimStart().length,
    to: to - (part.length - part.trimEnd().length),
  };
}

function shown(part: string): string {
  return part.replace(/\s+/g, " ");
}
