import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as rules from "./permissions.ts";

it.each([
  ["permissions", "ACL SETUSER locks on >password ", rules.documentedRule, "\n"],
  ["permissions", "`", rules.documentedRuleWithoutQueues, "`"],
  ["permissions", "`", rules.documentedRuleOfGuard, "`"],
  ["without-scripts", "ACL SETUSER locks on >password ", rules.documentedRuleWithoutScripts, "\n"],
  ["read-write-lock", "`", rules.documentedRuleOfReaders, "`"],
])("the page %s has the rule %s... of the code", (page, before, rule, behind) => {
  const file = new URL(`../../packages/redlock/docs/${page}.md`, import.meta.url);
  expect(readFileSync(file, "utf8")).toContain(before + rule.join(" ") + behind);
});
