import { DefaultMap } from "../default-map.ts";

/** Whether `text` matches a pattern as Redis reads one: `*`, `?`, `[a-z]`, `[^a]`, and a backslash before what is meant as it is. */
export function matchesGlob(pattern: string, text: string): boolean {
  return expressions.get(pattern).test(text);
}

const expressions = new DefaultMap((pattern: string) => new RegExp(`^${sourceOf(pattern)}$`, "s"));

function sourceOf(pattern: string): string {
  let source = "";
  const characters = pattern.split("");
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at]!;
    if (character === "*") source += ".*";
    else if (character === "?") source += ".";
    else if (character === "[") {
      const end = endOfSet(characters, at);
      source += setSource(characters.slice(at + 1, end));
      at = end;
    } else if (character === "\\" && at + 1 < characters.length) {
      at += 1;
      source += literal(characters[at]!);
    } else source += literal(character);
  }
  return source;
}

/** Where the bracket is closed; a set that is not closed goes on to the end of the pattern. */
function endOfSet(characters: readonly string[], from: number): number {
  for (let at = from + 1; at < characters.length; at += 1) {
    if (characters[at] === "\\") at += 1;
    else if (characters[at] === "]") return at;
  }
  return characters.length;
}

function setSource(characters: readonly string[]): string {
  const isNegated = characters[0] === "^";
  let members = "";
  for (let at = isNegated ? 1 : 0; at < characters.length; at += 1) {
    const isEscaped = characters[at] === "\\" && at + 1 < characters.length;
    if (isEscaped) at += 1;
    const first = characters[at]!;
    const last = characters[at + 2];
    if (!isEscaped && characters[at + 1] === "-" && last !== undefined) {
      const [from, to] = first < last ? [first, last] : [last, first];
      members += `${literal(from)}-${literal(to)}`;
      at += 2;
    } else members += literal(first);
  }
  // Nothing is in an empty set, and anything is in its opposite.
  if (members === "") return isNegated ? "." : "(?!)";
  return isNegated ? `[^${members}]` : `[${members}]`;
}

function literal(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
