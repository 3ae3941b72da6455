import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Redlock } from "@quorlock/redlock";
import { Child } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { findChromium } from "../chromium.ts";

// The page of `quorlock serve` as people see it: in a real Chromium, on real masters. Screenshots stay in `shots`.

const main = new URL("../../packages/cli/src/main.ts", import.meta.url);
const shots = fileURLToPath(new URL("../../node_modules/.pictures/", import.meta.url));
/** Other work may have the processor. */
const soon = { timeout: 20_000 };
/** A record has the locks that were held for ten seconds, and is written every ten. */
const recorded = { timeout: 60_000 };
const hostile = `<img src=x onerror=alert(1)>\u202e7`;
const token = "a-token-of-32-characters-or-so-0";

const executable = await findChromium();

describe("the page of quorlock serve, in Chromium", () => {
  let browser: Browser;
  let masters: Masters;
  let admins: readonly Redis[];
  let billing: Redlock;
  let report: Redlock;
  const complaints: string[] = [];
  const requests: string[] = [];

  function clients(): readonly Redis[] {
    // A master is killed.
    return masters.list.map(({ url }) => new Redis(url).on("error", () => {}));
  }

  beforeEach((context) => {
    complaints.length = 0;
    requests.length = 0;
    if (typeof executable === "string") return;
    console.log(`SKIPPED: there is no Chromium to look at the page with: ${executable.missing}`);
    context.skip(executable.missing);
  });

  beforeAll(async () => {
    if (typeof executable !== "string") return;
    await mkdir(shots, { recursive: true });
    // Tests run as root in containers, where Chromium's own sandbox cannot be had.
    browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
    masters = await startMasters(3, { say: () => {} });
    admins = clients();
    billing = new Redlock(clients(), { owner: hostile });
    report = new Redlock(clients(), { owner: "report-2" });
  });

  afterAll(async () => {
    await browser?.close();
    await billing?.quit();
    await report?.quit();
    for (const admin of admins ?? []) admin.disconnect();
    await masters?.stop();
  });

  async function serve(env: Readonly<Record<string, string>> = {}): Promise<{ child: Child; url: string }> {
    const args = ["serve", "--port", "0", "--interval", "100ms"];
    const child = Child.node(main, args, {
      env: { REDLOCK_NODES: masters.urls.join(), QUORLOCK_TOKEN: undefined, ...env },
    });
    return { child, url: await child.line(0) };
  }

  async function open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...options });
    const page = await context.newPage();
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(url);
    return page;
  }

  /** Wide and narrow, light and dark. */
  async function photograph(page: Page, name: string): Promise<void> {
    for (const colorScheme of ["light", "dark"] as const)
      for (const width of [1280, 390]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 1000 });
        expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
        await page.screenshot({ path: `${shots}serve-${name}-${colorScheme}-${width}.png`, fullPage: true });
      }
    await page.setViewportSize({ width: 1280, height: 1000 });
  }

  test("shows a lock and its waiters, a master that dies, and that the lock goes", async () => {
    const { child, url } = await serve();
    await using _ = child;
    const page = await open(url);
    await expect.poll(() => page.locator("#masters tbody").textContent(), soon).toMatch(/(reachable.*){3}/);
    expect(await page.locator("#locks tbody").textContent()).toBe("No lock has been held for ten seconds.");

    const lock = await billing.acquire("invoice:42", 120_000);
    const row = page.locator("#locks tbody tr", { hasText: "invoice:42" });
    await expect.poll(() => row.count(), recorded).toBe(1);
    const written = `<img src=x onerror=alert(1)>\\u202e7 (pid ${process.pid}, host `;
    expect(await row.textContent()).toContain(written);
    expect(await row.textContent()).toMatch(/3 of 3none$/);
    expect(await rowOf(page, "#owners", "onerror").textContent()).toContain(String(process.pid));
    expect(await rowOf(page, "#changes", "invoice:42").textContent()).toMatch(/^\d\d:\d\d:\d\dheldinvoice:42/);

    const waiting = report.acquire("invoice:42", 1000, { waitTimeout: 120_000 });
    await expect.poll(() => row.locator("li").allTextContents(), soon).toHaveLength(1);
    await photograph(page, "locks");

    await masters.list[2]!.kill();
    const dead = rowOf(page, "#masters", String(masters.list[2]!.port));
    await expect.poll(() => dead.textContent(), soon).toMatch(/unreachable \((ECONNREFUSED|CLOSED)\)none/);
    await expect.poll(() => row.textContent(), soon).toMatch(/2 of 3127\.0\.0\.1:\d+: \w+/);
    await expect.poll(() => page.locator("#status").textContent(), soon).toMatch(/2 of 3 masters answer/);
    await expect.poll(() => page.locator("#spoken").textContent(), soon).toContain("master unreachable");
    await photograph(page, "dead-master");
    await masters.list[1]!.kill();
    await expect.poll(() => page.locator("#changes").textContent(), soon).toContain("quorum lost");
    expect(await page.locator("#status").textContent()).toContain("no quorum. Locks may be missing here");
    await photograph(page, "no-quorum");
    await masters.list[1]!.restart();
    await masters.list[2]!.restart();
    await expect.poll(() => page.locator("#status").textContent(), soon).toContain("3 of 3 masters answer");

    await lock.release().catch(() => {});
    await (await waiting).release();
    await expect.poll(() => row.count(), recorded).toBe(0);
    const html = await page.content();
    expect(html).not.toContain(lock.value.slice(0, 9));
    expect(complaints).toEqual([]);
    expect(requests.filter((request) => !request.startsWith(url) && request !== "data:,")).toEqual([]);
    await page.context().close();
  }, 180_000);
});

function rowOf(page: Page, section: string, text: string): Locator {
  return page.locator(`${section} tbody tr`, { hasText: text }).first();
}
