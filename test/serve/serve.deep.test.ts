import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Redlock } from "@quorlock/redlock";
import { Child } from "@quorlock/simulation/processes";
import { findChromium, type Masters, startMasters, withFreePort } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

// The page of `quorlock serve` as people see it: in a real Chromium, on real masters. Screenshots stay in `shots`.

const main = new URL("../../packages/cli/src/main.ts", import.meta.url);
const shots = fileURLToPath(new URL("../../node_modules/.pictures/", import.meta.url));
/** Other work may have the processor. */
const soon = { timeout: 60_000 };
/** A record has the locks that were held for ten seconds, and is written every ten. */
const recorded = { timeout: 60_000 };
const hostile = `<img src=x onerror=alert(1)>\u202e7`;
const token = "a-token-of-32-characters-or-so-0";

const executable = await findChromium();

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

/** The number of clients of this master. */
async function connectedTo(admin: Redis): Promise<number> {
  return String(await admin.client("LIST"))
    .trim()
    .split("\n").length;
}

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
    // An owner has a record from its first lock.
    await (await report.acquire("first", 5000)).release();
  });

  afterAll(async () => {
    await browser?.close();
    await billing?.quit();
    await report?.quit();
    for (const admin of admins ?? []) admin.disconnect();
    await masters?.stop();
  });

  afterEach(async () => {
    for (const context of browser?.contexts() ?? []) await context.close();
  });

  async function serve(
    env: Readonly<Record<string, string>> = {},
    port = "0",
  ): Promise<{ child: Child; url: string }> {
    const args = ["serve", "--port", port, "--interval", "100ms"];
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

  test("shows incidents in words: an owner that is gone, a lock without a quorum, a name of 10 kB", async () => {
    const names = ["gone", "n".repeat(10_000)];
    const locks = [...names, "split"].map((name) => ({ resources: [name], since: Date.now() - 50_000 }));
    const owner = { name: "billing-7", host: "a", pid: 31, version: "0.1.0", writes: 3, masters: [] };
    for (const [place, admin] of admins.entries()) {
      await admin.set("split", String(place).repeat(32), "PX", 600_000);
      for (const name of names) await admin.set(name, "d".repeat(32), "PX", 600_000);
      const record = JSON.stringify({ ...owner, ttl: 600_000, locks });
      await admin.set("quorlock:owner:dddddddd", record, "PX", 560_000);
      await admin.zadd("quorlock:owners", Date.now() + 560_000, "dddddddd");
    }
    await using child = (await serve()).child;
    const page = await open(await child.line(0));
    const rows = page.locator("#locks tbody tr");
    await rows.filter({ hasText: "billing-7 (pid 31, host a), owner gone" }).nth(1).waitFor(soon);
    for (const row of await rows.all()) expect((await row.boundingBox())!.height).toBeLessThan(200);
    expect(await page.getByTitle(names[1]!).count()).toBeGreaterThan(0);
    for (const width of [769, 900, 1280]) {
      await page.setViewportSize({ width, height: 1000 });
      const lines = await page.evaluate(`(() => {
        const range = document.createRange();
        range.selectNodeContents([...document.querySelectorAll("#locks td span")].find(({ textContent }) => textContent === "unknown"));
        return range.getClientRects().length;
      })()`);
      expect(lines, `a word of a page that is ${width} px wide is broken`).toBe(1);
    }
    await photograph(page, "incidents");
    for (const admin of admins) {
      await admin.del(...names, "split", "quorlock:owner:dddddddd");
      await admin.zrem("quorlock:owners", "dddddddd");
    }
  });

  test("shows a lock and its waiters, a master that dies, and that the lock goes", async () => {
    const { child, url } = await serve();
    await using _ = child;
    const page = await open(url);
    await expect.poll(() => page.locator("#masters tbody").textContent(), soon).toMatch(/(reachable.*){3}/);
    expect(await page.locator("#locks tbody").textContent()).toBe("No owner has recorded a lock.");

    const lock = await billing.acquire("invoice:42", 120_000);
    const row = page.locator("#locks tbody tr", { hasText: "invoice:42" });
    await expect.poll(() => row.count(), recorded).toBe(1);
    const written = `<img src=x onerror=alert(1)>\\u202e7 (pid ${process.pid}, host `;
    expect(await row.textContent()).toContain(written);
    expect(await row.textContent()).toMatch(/3 of 3none$/);
    expect(await rowOf(page, "#owners", "onerror").textContent()).toContain(String(process.pid));
    expect(await rowOf(page, "#changes", "invoice:42").textContent()).toMatch(
      /^\d\d:\d\d:\d\dheldinvoice:42/,
    );

    const waiting = report.acquire("invoice:42", 1000, { waitTimeout: 120_000 });
    await expect.poll(() => row.locator("li").allTextContents(), soon).toHaveLength(1);
    expect(await row.locator("li").textContent()).toMatch(/^report-2 \(pid \d+, host /);
    await photograph(page, "locks");

    await masters.list[2]!.kill();
    const dead = rowOf(page, "#masters", String(masters.list[2]!.port));
    await expect.poll(() => dead.textContent(), soon).toMatch(/unreachable \((ECONNREFUSED|CLOSED)\)none/);
    await expect.poll(() => row.textContent(), soon).toMatch(/2 of 3127\.0\.0\.1:\d+: \w+/);
    await expect.poll(() => page.locator("#status").textContent(), soon).toMatch(/2 of 3 masters answered/);
    await expect.poll(() => page.locator("#spoken").textContent(), soon).toContain("master unreachable");
    await photograph(page, "dead-master");
    await masters.list[1]!.kill();
    await expect.poll(() => page.locator("#changes").textContent(), soon).toContain("unknown");
    await expect
      .poll(() => page.locator("#status").textContent(), soon)
      .toContain("no quorum. Locks may be missing here");
    await photograph(page, "no-quorum");
    await masters.list[1]!.restart();
    await masters.list[2]!.restart();
    await expect.poll(() => page.locator("#status").textContent(), soon).toContain("3 of 3 masters answer");

    // Two masters have forgotten it: nobody is told that its release freed a quorum.
    await lock.release().catch(() => {});
    await (await waiting).release();
    await expect.poll(() => row.count(), recorded).toBe(0);
    expect(await rowOf(page, "#changes", "invoice:42").textContent()).toContain("freeinvoice:42");
    const html = await page.content();
    expect(html).not.toContain(lock.value.slice(0, 9));
    expect(complaints).toEqual([]);
    expect(requests.filter((request) => !request.startsWith(url) && request !== "data:,")).toEqual([]);
  }, 180_000);

  test("keyboard alone: filter, and order by each column", async () => {
    const { child, url } = await serve();
    await using _ = child;
    const page = await open(url);
    const names = page.locator("#masters tbody th");
    await expect.poll(() => names.count(), soon).toBe(3);
    const ports = masters.list.map(({ port }) => String(port));
    await page.keyboard.press("/");
    await page.keyboard.type(ports[1]!);
    await expect.poll(() => names.allTextContents(), soon).toEqual([`127.0.0.1:${ports[1]}`]);
    expect(await page.locator("#masters caption").textContent()).toMatch(/1 of them matches the filter$/);
    await page.keyboard.press("Escape");
    await expect.poll(() => names.count(), soon).toBe(3);

    await page.keyboard.press("Tab");
    const sorted = [...ports].sort((one, other) => Number(one) - Number(other));
    const shown = async (): Promise<readonly string[]> =>
      (await names.allTextContents()).map((name) => name.replace("127.0.0.1:", ""));
    await page.keyboard.press("Enter");
    await expect.poll(shown, soon).toEqual(sorted);
    await page.keyboard.press("Space");
    await expect.poll(shown, soon).toEqual(sorted.toReversed());
    expect(
      await page.getByRole("columnheader", { name: "Master", exact: true }).getAttribute("aria-sort"),
    ).toBe("descending");
    // The focus stays while states come.
    const spoken = await page.locator("#status").textContent();
    await expect.poll(() => page.locator("#status").textContent(), soon).not.toBe(spoken);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Master");
    expect(complaints).toEqual([]);
  });

  test.each([1280, 390])(
    "roles and names are those of tables, %i px wide, and nothing moves",
    async (width) => {
      const { child, url } = await serve();
      await using _ = child;
      const page = await open(url, { viewport: { width, height: 1000 } });
      await expect.poll(() => page.locator("#masters tbody tr").count(), soon).toBe(3);
      for (const title of ["Masters", "Locks", "Owners", "Changes"])
        expect(await page.getByRole("region", { name: title }).getByRole("table").count()).toBe(1);
      expect(await page.getByRole("table", { name: "3 masters" }).getByRole("rowheader").count()).toBe(3);
      expect(await page.getByRole("columnheader").count()).toBe(20);
      expect(await page.getByRole("searchbox", { name: "Filter" }).count()).toBe(1);
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Quorlock");
      const faults = await page.evaluate<readonly string[]>(`(() => {
      const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
      const named = [...document.querySelectorAll("[aria-labelledby], [aria-describedby]")].flatMap((one) =>
        [one.getAttribute("aria-labelledby"), one.getAttribute("aria-describedby")].filter(Boolean));
      return [
        ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => id + " twice"),
        ...named.filter((id) => !document.getElementById(id)).map((id) => id + " is missing"),
        ...[...document.querySelectorAll("button")].filter((one) => !one.textContent).map(() => "button without a name"),
        ...(document.documentElement.lang === "en" ? [] : ["no language"]),
      ];
    })()`);
      expect(faults).toEqual([]);
      // Since the page was opened, with the first state and those that followed.
      const first = await page.locator("#status").textContent();
      await expect.poll(() => page.locator("#status").textContent(), soon).not.toBe(first);
      const shift = await page.evaluate<number>(`new Promise((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const { value } of list.getEntries()) sum += value;
        }).observe({ type: "layout-shift", buffered: true });
        requestAnimationFrame(() => setTimeout(() => resolve(sum), 50));
      })`);
      expect(shift).toBe(0);
      expect(complaints).toEqual([]);
    },
  );

  test.each(["light", "dark"] as const)("each text has a contrast of 4.5 to 1, %s", async (colorScheme) => {
    const { child, url } = await serve();
    await using _ = child;
    const page = await open(url, { colorScheme });
    await expect.poll(() => page.locator("#masters tbody tr").count(), soon).toBe(3);
    const contrasts = await page.evaluate<Readonly<Record<string, number>>>(`(() => {
      const style = getComputedStyle(document.documentElement);
      const luminance = (name) => {
        const canvas = document.createElement("canvas").getContext("2d");
        canvas.fillStyle = style.getPropertyValue(name);
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) =>
          value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (one, other) => {
        const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
      };
      const texts = ["--front", "--dim", "--good", "--warn", "--bad"];
      return Object.fromEntries(texts.flatMap((text) => ["--back", "--head"].map((back) =>
        [text + " on " + back, contrast(text, back)])));
    })()`);
    expect(Object.keys(contrasts)).toHaveLength(10);
    for (const [pair, contrast] of Object.entries(contrasts)) expect(contrast, pair).toBeGreaterThan(4.5);
  });

  test("asks for the token, and comes back by itself when the program was started again", async () => {
    // It listens there twice: a port that no outgoing connection has meanwhile.
    const port = await withFreePort((free) => Promise.resolve(`${free}`));
    const { child, url } = await serve({ QUORLOCK_TOKEN: token }, port);
    await using _ = child;
    const page = await open(url);
    await page.getByLabel("Token").fill("wrong");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("alert").textContent(), soon).toBe("This is not the token.");
    await photograph(page, "login");
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("#status").textContent(), soon).toContain("3 of 3 masters answer");
    expect(await page.evaluate("document.cookie")).toBe("");
    // Chromium says each failed load on the console; these are meant to fail.
    complaints.length = 0;
    await child.kill();
    await expect.poll(() => page.locator("#spoken").textContent(), soon).toContain("No connection");
    const again = await serve({ QUORLOCK_TOKEN: token }, port);
    await using another = again.child;
    expect(another.process.exitCode).toBeNull();
    await expect.poll(() => page.getByLabel("Token").count(), soon).toBe(1);
  });

  test("all pages have one connection to each master, which ends when nobody watches", async () => {
    const { child, url } = await serve();
    await using _ = child;
    const before = await connectedTo(admins[0]!);
    const page = await open(url);
    const other = await open(url);
    await expect.poll(() => other.locator("#masters tbody tr").count(), soon).toBe(3);
    expect(await connectedTo(admins[0]!)).toBe(before + 1);
    await page.context().close();
    await other.context().close();
    await expect.poll(() => connectedTo(admins[0]!), { timeout: 30_000 }).toBe(before);
  });

  test("a SIGSTOPped master is unreachable, and hinders nobody", async () => {
    const { child, url } = await serve();
    await using _ = child;
    const page = await open(url);
    const hung = rowOf(page, "#masters", String(masters.list[0]!.port));
    await expect.poll(() => hung.textContent(), soon).toContain("reachable");
    await masters.list[0]!.hang();
    await expect.poll(() => hung.textContent(), soon).toContain("unreachable (TIMEOUT)");
    const since = await page.locator("#status").textContent();
    await expect.poll(() => page.locator("#status").textContent(), soon).not.toBe(since);
    await masters.list[0]!.resume();
    await expect.poll(() => hung.textContent(), soon).toMatch(/:\d+(reachable|slow)/);
  });
});

function rowOf(page: Page, section: string, text: string): Locator {
  return page.locator(`${section} tbody tr`, { hasText: text }).first();
}
