import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child } from "@quorlock/simulation/processes";
import { check, type Recipe } from "./recipe.ts";

const quorlock = new URL("../../packages/cli/src/main.ts", import.meta.url);

/**
 * The migration that every instance runs before it starts: it looks whether it is still needed, as migration tools do. In a
 * container: `CMD quorlock exec migrations --wait 5m -- npm run migrate && node server.js`.
 */
const migrate = (file: string): string => `
  if [ -e ${file} ]; then echo "nothing to do"; exit 0; fi
  echo begin >> ${file}.log; sleep 2; echo end >> ${file}.log; touch ${file}; echo migrated`;

export const migrations: Recipe = {
  title: "migrations: four instances start at once, and quorlock exec lets one after the other migrate",
  async play({ urls }) {
    const folder = mkdtempSync(join(tmpdir(), "quorlock-migrations-"));
    try {
      const file = join(folder, "version-2");
      const instances = Array.from({ length: 4 }, () =>
        Child.node(quorlock, ["exec", "migrations", "--wait", "1m", "--", "sh", "-c", migrate(file)], {
          env: { REDLOCK_NODES: urls.join() },
        }),
      );
      const endings = await Promise.all(instances.map(({ ended }) => ended));
      for (const { code, errors } of endings) check(code === 0, `an instance ended with ${code}: ${errors}`);
      const log = readFileSync(`${file}.log`, "utf8");
      check(log === "begin\nend\n", `the migration ran more than once, or at the same time: ${log}`);
      return `${endings.filter(({ output }) => output === "migrated\n").length} of ${endings.length} instances migrated`;
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
