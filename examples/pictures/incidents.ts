import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Redlock } from "@quorlock/redlock";
import { Child, runProgram } from "@quorlock/simulation/processes";
import { findChromium, startMasters, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { type Browser, chromium } from "playwright-core";
import { terminalPicture } from "../fixture/terminal-picture.ts";

// `pnpm pictures`: what the terminal and the page say in incidents, on three real masters: an owner that was killed, a lock
// that was revoked, a lock whose masters forgot it and got the votes of clients that crashed, and an observer that two of the
// masters do not answer. In about a minute: an owner is gone after 30 s.

const program = new URL("../../packages/cli/src/main.ts", import.meta.url);
/** With a folder, the whole page, narrow too: to look at. Otherwise its locks, for the documents. */
const [, , folder] = process.argv;
const docs = folder ? pathToFileURL(`${folder}/`) : new URL("../../docs/", import.meta.url);

const executable = await findChromium();
if (typeof executable !== "string") throw new Error(`no Chromium: ${executable.missing}`);

await using masters = await startMasters(3, { say: () => {} });
const proxies = await Promise.all(masters.list.map(startProxy));
const admins = masters.urls.map((url) => new Redis(url));
const open = (owner: string): Redlock =>
  new Redlock(
    masters.urls.map((url) => new Redis(url)),
    { owner },
  );
const [billing, report] = [open("billing-7"), open("report-2")];
const held = await Promise.all([
  billing.acquire("invoice:42", 600_000),
  billing.acquire("cart:7", 600_000),
  report.acquire("stock:9", 600_000),
]);
const holder = Child.node(new URL("holder.ts", import.meta.url), [
  "cron-1",
  "nightly-export",
  ...masters.urls,
]);
await holder.line(0);

const addressesOf = (urls: readonly string[]): readonly string[] => urls.flatMap((url) => ["--master", url]);
const addresses = addressesOf(masters.urls);
const listed = async (...words: readonly string[]): Promise<boolean> => {
  const { output } = await runProgram(program, ["ls", ...addresses]);
  return words.every((word) => output.includes(word));
};
while (!(await listed("nightly-export", "invoice:42", "cart:7", "stock:9"))) await pause(500);
await holder.kill();
await runProgram(program, ["release", "stock:9", ...addresses]);
// Two masters that have forgotten it, and have voted for clients that crashed.
const crashed = [1, 2].map(() => randomBytes(16).toString("hex"));
for (const [place, token] of crashed.entries()) await admins[place]!.set("cart:7", token, "PX", 600_000);
const tags = new Map(
  crashed.map((token, place) => [token.slice(0, 8), ["5229c528", "814402a4"][place]!] as const),
);
while (!(await listed("owner gone"))) await pause(500);
const cutOff = proxies.map(({ url }) => url);
for (const proxy of proxies.slice(1)) proxy.hold("requests");

const ports = [...masters.list, ...proxies].map(({ port }) => `127.0.0.1:${port}`);
const words: readonly (readonly [pattern: RegExp, word: (found: string) => string])[] = [
  [new RegExp(`\\b${hostname()}\\b`), () => "a"],
  [/pid \d{3,}/, () => "pid 31"],
  [/127\.0\.0\.1:\d+/, (address) => `redis-${(ports.indexOf(address) % 3) + 1}:6379`],
  [/\b(?!65\.0)\d+\.\d s\b/, () => "65.0 s"],
  [/\b10 min/, () => "9 min"],
  [/\b(?!474a2812|5229c528|814402a4)[\da-f]{8}\b/, (tag) => tags.get(tag) ?? "474a2812"],
];

/** Without what differs from run to run. The columns behind a word that is shorter stay where they are. */
function neutral(text: string): string {
  let rest = text;
  for (const [pattern, word] of words)
    for (let found = pattern.exec(rest); found; found = pattern.exec(rest)) {
      const [[old], told] = [found, word(found[0])];
      const behind = rest.slice(found.index + old.length);
      const space = " ".repeat(Math.max(0, old.length - told.length));
      rest = rest.slice(0, found.index) + told + behind.replace(/^([^\n]*?)( {2,})/, `$1$2${space}`);
    }
  return rest;
}

const shown: string[] = [];
for (const [command, urls] of [
  [["ls"], masters.urls],
  [["inspect", "nightly-export"], masters.urls],
  [["inspect", "cart:7"], masters.urls],
  [["inspect", "invoice:42"], cutOff],
] as const) {
  const { output } = await runProgram(program, [...command, ...addressesOf(urls)]);
  shown.push(`$ quorlock ${command.join(" ")}`, ...neutral(output).trimEnd().split("\n"), "");
}
writeFileSync(
  new URL("incidents.svg", docs),
  terminalPicture("quorlock ls and inspect in incidents", shown.slice(0, -1)),
);

async function picture(browser: Browser, name: string, url: string, scheme: "light" | "dark", width: number) {
  const context = await browser.newContext({ viewport: { width, height: 500 }, colorScheme: scheme });
  const page = await context.newPage();
  await page.goto(url);
  await page
    .locator("#locks tbody tr", { hasText: name === "unknown" ? "unknown" : "no quorum" })
    .first()
    .waitFor();
  await page.exposeFunction("neutral", neutral);
  await page.evaluate(`(async () => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.nodeValue = await neutral(texts.currentNode.nodeValue);
  })()`);
  const path = fileURLToPath(new URL(`incidents-${name}-${scheme}${width < 600 ? "-narrow" : ""}.png`, docs));
  const { x, y, width: wide, height } = (await page.locator("#locks").boundingBox())!;
  const clip = { x: x - 12, y: y - 12, width: wide + 24, height: height + 24 };
  await page.screenshot({ path, fullPage: true, ...(!folder && { clip }) });
  await context.close();
}

const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
for (const [name, urls] of [
  ["page", masters.urls],
  ["unknown", cutOff],
] as const) {
  const env = { REDLOCK_NODES: urls.join(), QUORLOCK_TOKEN: undefined };
  await using serve = Child.node(program, ["serve", "--port", "0", "--timeout", "300", "--interval", "1m"], {
    env,
  });
  const url = await serve.line(0);
  for (const width of folder ? [1100, 420] : [900])
    for (const scheme of ["light", "dark"] as const) await picture(browser, name, url, scheme, width);
}
await browser.close();
for (const lock of held) await lock.release().catch(() => {});
await Promise.all([billing.quit(), report.quit()]);
for (const proxy of proxies) await proxy.stop();
for (const admin of admins) admin.disconnect();
