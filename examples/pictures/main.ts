import { writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Redlock } from "@quorlock/redlock";
import { Child, runProgram } from "@quorlock/simulation/processes";
import { findChromium, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { chromium } from "playwright-core";
import { terminalPicture } from "../fixture/terminal-picture.ts";

// `pnpm pictures`: what `quorlock inspect` prints and what the page of `quorlock serve` shows, on three real masters of which
// one dies, as pictures of the documents.

const main = new URL("../../packages/cli/src/main.ts", import.meta.url);
const docs = new URL("../../docs/", import.meta.url);

const executable = await findChromium();
if (typeof executable !== "string") throw new Error(`no Chromium: ${executable.missing}`);

await using masters = await startMasters(3, { say: () => {} });
console.log("three masters are up: who holds a lock, and one of them dies");
const open = (owner: string): Redlock =>
  new Redlock(
    masters.list.map(({ url }) => new Redis(url).on("error", () => {})),
    { owner },
  );
const [billing, report, cron] = [open("billing-7"), open("report-2"), open("cron-1")];
const fleet = [billing, report, cron];
await Promise.all(fleet.map((redlock) => redlock.ready()));

const lock = await billing.acquire("invoice:42", 120_000);
const other = await cron.acquire("nightly-export", 120_000);
const waiting = Promise.allSettled(
  [report, cron].map((redlock) => redlock.acquire("invoice:42", 1000, { waitTimeout: 120_000 })),
);
const addresses = masters.urls.flatMap((url) => ["--master", url]);
// A record has the locks that were held for ten seconds, and is written every ten.
const recorded = async (): Promise<boolean> =>
  (await runProgram(main, ["ls", ...addresses])).output.includes("nightly-export");
while (!(await recorded())) await pause(500);
await masters.list[2]!.kill();

/** Without the name of the machine that makes the picture. */
const neutral = (text: string): string =>
  text.replaceAll(`host ${hostname()})`, `host a)${" ".repeat(hostname().length - 1)}`);
const shown: string[] = [];
for (const command of [["inspect", "invoice:42"], ["ls"]]) {
  const { output } = await runProgram(main, [...command, ...addresses]);
  shown.push(`$ quorlock ${command.join(" ")}`, ...neutral(output).trimEnd().split("\n"), "");
}
writeFileSync(
  new URL("inspect.svg", docs),
  terminalPicture(
    "quorlock inspect and ls: who holds a lock, who waits, and which master says otherwise",
    shown.slice(0, -1),
  ),
);

const child = Child.node(main, ["serve", "--port", "0", "--interval", "100ms"], {
  env: { REDLOCK_NODES: masters.urls.join(), QUORLOCK_TOKEN: undefined },
});
const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
try {
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ viewport: { width: 1100, height: 700 }, colorScheme });
    const page = await context.newPage();
    await page.goto(await child.line(0));
    await page.locator("#locks tbody tr", { hasText: "nightly-export" }).waitFor();
    await page.locator("#masters tbody tr", { hasText: "unreachable" }).waitFor();
    await page.evaluate(`{
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const text = texts.currentNode.nodeValue;
        texts.currentNode.nodeValue = text === "${hostname()}" ? "a" : text.replaceAll("host ${hostname()}", "host a");
      }
    }`);
    await page.screenshot({ path: fileURLToPath(new URL(`serve-${colorScheme}.png`, docs)), fullPage: true });
  }
} finally {
  await browser.close();
  await child.kill();
  await Promise.all([lock.release(), other.release()]);
  await waiting;
  await Promise.all(fleet.map((redlock) => redlock.quit()));
}
