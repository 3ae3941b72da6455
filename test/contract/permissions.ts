import { readFileSync } from "node:fs";

/** The ACL rule of the documentation, word for word: the tests run under it. */
export const documentedRule: readonly string[] = ruleIn("permissions.md");

/** The same for clients without scripts. */
export const documentedRuleWithoutScripts: readonly string[] = ruleIn("without-scripts.md");

/** The commands that readers and writers need in addition to the first rule. */
export const documentedRuleOfReaders: readonly string[] = wordsIn("read-write-lock.md", /`(\+time .+)`/);

/** The words after the name and the password in `ACL SETUSER name on >password ...`. */
function ruleIn(page: string): readonly string[] {
  return wordsIn(page, /^ACL SETUSER \S+ on >\S+ (.+)$/m);
}

function wordsIn(page: string, pattern: RegExp): readonly string[] {
  const file = new URL(`../../packages/redlock/docs/${page}`, import.meta.url);
  const words = pattern.exec(readFileSync(file, "utf8"))?.[1];
  if (words === undefined) throw new Error(`${page} has no line like ${String(pattern)}`);
  return words.trim().split(/\s+/);
}
