import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const readme = fileURLToPath(new URL("../../packages/redlock/README.md", import.meta.url));

/** The rule that users are told to set, word by word: what the tests run under is what the README says. */
export const documentedRule: readonly string[] = ruleIn("## Permissions");

/** The same for `scripts: false`. */
export const documentedRuleWithoutScripts: readonly string[] = ruleIn("## Without scripts");

/** The words after the name and the password in `ACL SETUSER name on >password ...`. */
function ruleIn(section: string): readonly string[] {
  const [, text = ""] = readFileSync(readme, "utf8").split(`${section}\n`);
  const rule = /^ACL SETUSER \S+ on >\S+ (.+)$/m.exec(text)?.[1];
  if (rule === undefined)
    throw new Error(`the README has no line "ACL SETUSER name on >password rule" in "${section}"`);
  return rule.trim().split(/\s+/);
}
