import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const readme = fileURLToPath(new URL("../../packages/redlock/README.md", import.meta.url));

/** The rule that users are told to set, word by word: what the tests run under is what the README says. */
export const documentedRule: readonly string[] = ruleIn("## Permissions");

/** The same for `scripts: false`. */
export const documentedRuleWithoutScripts: readonly string[] = ruleIn("## Without scripts");

/** What readers and writers need beside the first of them. */
export const documentedRuleOfReaders: readonly string[] = wordsIn("## Readers and writers", /`(\+time .+)`/);

/** The words after the name and the password in `ACL SETUSER name on >password ...`. */
function ruleIn(section: string): readonly string[] {
  return wordsIn(section, /^ACL SETUSER \S+ on >\S+ (.+)$/m);
}

function wordsIn(section: string, pattern: RegExp): readonly string[] {
  const [, text = ""] = readFileSync(readme, "utf8").split(`${section}\n`);
  const words = pattern.exec(text)?.[1];
  if (words === undefined) throw new Error(`the README has no line like ${String(pattern)} in "${section}"`);
  return words.trim().split(/\s+/);
}
