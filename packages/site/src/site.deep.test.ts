import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { extname, join, relative } from "node:path";
import { promisedPlan, runPlan } from "@quorlock/simulation";
import { hashOf, type Plan, planOf, replayFileOf, stateOf, stories, turned } from "@quorlock/simulation/lab";
import { runProgram } from "@quorlock/simulation/processes";
import { redlock5 } from "@quorlock/simulation/redlock-5";
import { findChromium } from "@quorlock/testbed";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { chapters, dist, pathOf, referencePages, root } from "./pages.ts";

// The site as it is built, and as readers see it in a real Chromium. Pictures of pages stay in `shots`.

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = join(root, "node_modules/.pictures");
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

const executable = await findChromium();
let server: Server;
let origin: string;

/** The file that a path of the site stands for, as `cleanUrls` has it. */
function fileFor(path: string): string {
  const file = join(dist, decodeURIComponent(path));
  if (existsSync(`${file}.html`)) return `${file}.html`;
  return existsSync(file) && statSync(file).isDirectory() ? join(file, "index.html") : file;
}

beforeAll(async () => {
  const { code, output, errors } = await runProgram(new URL("main.ts", import.meta.url), ["--build"]);
  expect(code, output + errors).toBe(0);
  server = createServer(({ url = "" }, response) => {
    const file = fileFor(new URL(url, "http://localhost").pathname);
    response.writeHead(existsSync(file) ? 200 : 404, {
      "content-type": types[extname(file)] ?? "text/plain",
    });
    if (existsSync(file)) createReadStream(file).pipe(response);
    else response.end();
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 300_000);

afterAll(() => server?.close());

const pages = chapters.flatMap(({ pages }) => pages.map(([file]) => pathOf(file)));
/** With those that TypeDoc has written, once the site is built. */
const allPages = (): readonly string[] => [...pages, ...referencePages().map(pathOf)];

describe("the built files", () => {
  test("are the pages of the sidebar, TypeDoc's, and no others", () => {
    const built = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".html"),
    );
    const expected = allPages().map((path) => relative(dist, fileFor(path)));
    expect(built.filter((file) => file !== "404.html").sort()).toEqual(expected.sort());
    expect(referencePages().length).toBeGreaterThan(8);
  });

  test("lead to files, anchors and runs of the lab that exist", async () => {
    const dead: string[] = [];
    let links = 0;
    for (const path of allPages()) {
      for (const [, href = ""] of htmlOf(path).matchAll(/<a [^>]*?href="([^"]+)"/g)) {
        if (/^[a-z]+:/.test(href)) continue;
        links += 1;
        const { pathname, hash } = new URL(href, `http://site${path}`);
        if (!existsSync(fileFor(pathname))) dead.push(`${path}: ${href}`);
        else if (pathname === "/lab" && hash !== "") await stateOf(hash.slice(1));
        else if (hash !== "" && !htmlOf(pathname).includes(`id="${decodeURIComponent(hash.slice(1))}"`))
          dead.push(`${path}: ${href}`);
      }
    }
    expect(dead).toEqual([]);
    expect(links).toBeGreaterThan(2000);
  });

  test("have each page as Markdown, and a list of them, for readers that are programs", () => {
    const list = readFileSync(join(dist, "llms.txt"), "utf8");
    for (const path of pages.filter((one) => one !== "/")) {
      expect(list).toContain(`${path}.md`);
      expect(statSync(join(dist, `${path}.md`)).size).toBeGreaterThan(100);
    }
  });
});

/** Pages with code, tables, long lines and pictures. */
const dark = ["/", "/reference", "/guide/errors", "/evidence/scenarios"];
const htmlByPath = new Map<string, string>();

function htmlOf(path: string): string {
  const known = htmlByPath.get(path) ?? readFileSync(fileFor(path), "utf8");
  htmlByPath.set(path, known);
  return known;
}

describe("the pages in Chromium", () => {
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];
  const requests: string[] = [];

  beforeEach((context) => {
    if (typeof executable === "string") return;
    console.log(`SKIPPED: there is no Chromium to look at the site with: ${executable.missing}`);
    context.skip(executable.missing);
  });

  beforeAll(async () => {
    if (typeof executable !== "string") return;
    await mkdir(shots, { recursive: true });
    // Tests run as root in containers, where Chromium's own sandbox cannot be had.
    browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.emulateMedia({ reducedMotion: "reduce" });
    page.on("console", (message) => complaints.push(`${page.url()}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
    page.on("request", (request) => requests.push(request.url()));
  });

  afterAll(() => browser?.close());

  test("ask for nothing elsewhere, say nothing on the console, and hinder nobody", async () => {
    const findings: string[] = [];
    const views = [
      ...pages.map((path) => [path, "light"] as const),
      ...dark.map((path) => [path, "dark"] as const),
    ];
    for (const [path, colorScheme] of views) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.goto(origin + path);
      // The frame around the pages is the same on all.
      const found = await findingsOf(page, dark.includes(path) ? "document" : '"main"');
      findings.push(...found.map((finding) => `${path}, ${colorScheme}: ${finding}`));
    }
    expect(findings).toEqual([]);
    expect(complaints).toEqual([]);
    expect(requests.length).toBeGreaterThan(pages.length);
    expect(requests.filter((url) => !url.startsWith(origin) && !url.startsWith("data:"))).toEqual([]);
  });

  test("fit on narrow screens, light and dark", async () => {
    for (const path of dark)
      for (const colorScheme of ["light", "dark"] as const)
        for (const width of [1280, 390]) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          await page.setViewportSize({ width, height: 900 });
          await page.goto(origin + path);
          expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(
            width,
          );
          const name = path === "/" ? "home" : path.slice(1).replaceAll("/", "-");
          await page.screenshot({ path: join(shots, `site-${name}-${colorScheme}-${width}.png`) });
        }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test("fit in a window and on a phone: no table and no line of code is cut", async () => {
    const wide: string[] = [];
    // The pages are whole before their scripts run: without these, a page is there in a tenth of the time.
    const still = await browser.newPage({ javaScriptEnabled: false });
    for (const path of allPages()) {
      await still.goto(origin + path);
      for (const width of [1280, 390]) {
        await still.setViewportSize({ width, height: 900 });
        const found = await still.evaluate<readonly string[]>(`[
          document.documentElement,
          ...document.querySelectorAll(${width === 390 ? '".vp-doc pre"' : '".vp-doc pre, .vp-doc table"'}),
        ].flatMap((one) => one.scrollWidth > one.clientWidth + 1 ? one.tagName + " " + one.scrollWidth : [])`);
        wide.push(...found.map((one) => `${path} at ${width}: ${one}`));
      }
    }
    await still.close();
    expect(wide).toEqual([]);
  });

  test("break no word of a table", async () => {
    const broken: string[] = [];
    const still = await browser.newPage({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
    for (const path of allPages()) {
      await still.goto(origin + path);
      const found = await still.evaluate<readonly string[]>(`(() => {
        const [words, range] = [[], new Range()];
        for (const table of document.querySelectorAll(".vp-doc table")) {
          const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
          for (let text = texts.nextNode(); text; text = texts.nextNode())
            for (const { 0: word, index } of text.data.matchAll(/\\w{2,}/g)) {
              range.setStart(text, index);
              range.setEnd(text, index + word.length);
              if (range.getClientRects().length > 1) words.push(word);
            }
        }
        return words;
      })()`);
      broken.push(...found.map((word) => `${path}: ${word}`));
    }
    await still.close();
    expect(broken).toEqual([]);
  });

  test("the home page loads at most 400 kB, and shows itself within a second", async () => {
    const fresh = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const session = await fresh.context().newCDPSession(fresh);
    await session.send("Network.enable");
    let loaded = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => {
      loaded += encodedDataLength;
    });
    // Without what it fetches ahead, once it is idle, for the pages of its links.
    await fresh.addInitScript(`Object.defineProperty(navigator, "connection", { value: { saveData: 1 } })`);
    await fresh.goto(`${origin}/`, { waitUntil: "networkidle" });
    const paint = await fresh.evaluate<number>(
      `performance.getEntriesByName("first-contentful-paint")[0].startTime`,
    );
    await fresh.close();
    console.log(`the home page: ${loaded} bytes, first contentful paint after ${Math.round(paint)} ms`);
    expect(loaded).toBeGreaterThan(20_000);
    expect(loaded).toBeLessThanOrEqual(400_000);
  });

  test("the reference opens with Redlock, and is found by words", async () => {
    await page.goto(`${origin}/api/redlock`);
    expect(await page.locator(".vp-doc h3").first().textContent()).toContain("Redlock");
    await page.goto("about:blank");
    await page.goto(`${origin}/`);
    const open = async (): Promise<number> => {
      await page.keyboard.press("Control+k");
      return page.locator("#localsearch-input").count();
    };
    await expect.poll(open, soon).toBe(1);
    await page.locator("#localsearch-input").fill("AcquireOptions");
    await expect.poll(() => page.locator('.results a[href*="/api/"]').count(), soon).toBeGreaterThan(0);
  });

  test("are found by words, with the keyboard alone", async () => {
    await page.goto(`${origin}/`);
    // The page hears its keys when its script has come.
    const open = async (): Promise<number> => {
      await page.keyboard.press("Control+k");
      return page.locator("#localsearch-input").count();
    };
    await expect.poll(open, { timeout: 30_000 }).toBe(1);
    await page.locator("#localsearch-input").fill("restart guard");
    await expect
      .poll(() => page.locator(".results .result").first().textContent(), { timeout: 30_000 })
      .toContain("Restart guard");
    await page.keyboard.press("Enter");
    await page.waitForURL(/restart-guard/);
  });

  test.each(stories)("the story $name ends in the lab as in Node, with redlock 5 too", async (story) => {
    const { quorlock, "redlock-5": peer } = story.expected;
    const ways = [
      { isWith: true, subject: undefined, outcome: quorlock[0] },
      ...(story.option ? [{ isWith: false, subject: undefined, outcome: quorlock[1] }] : []),
      { isWith: false, subject: "redlock-5" as const, outcome: peer },
    ];
    for (const { isWith, subject, outcome } of ways) {
      const state = { run: { story: story.name, seed: 2, isWith }, ...(subject ? { subject } : {}) };
      await openLab(page, `${origin}/lab#${await hashOf(state)}`);
      expect(await page.locator("#verdict").textContent()).toBe(
        `${subject ? "redlock 5" : "Quorlock"}: ${outcome === "safe" ? "ok" : `violated: ${outcome}`}`,
      );
      const isRed = (await page.locator("#verdict.violated").count()) === 1;
      expect(isRed, outcome).toBe(outcome !== "safe");
      const inNode = await runPlan(planOf(state), {
        ...(subject ? { subject: await redlock5() } : {}),
      });
      expect(await page.locator("#hash").textContent()).toBe(inNode.hash);
    }
    expect(complaints).toEqual([]);
  });

  /** A run in the lab's worker. */
  function inWorker(
    plan: Plan,
    maxEvents?: number,
  ): Promise<{ hash: string; simulated: number; took: number }> {
    const file = readdirSync(join(dist, "assets")).find((name) => /^worker-.*\.js$/.test(name));
    const request = JSON.stringify({ plan, subject: "quorlock", maxEvents });
    return page.evaluate(`new Promise((resolve, reject) => {
      const worker = globalThis.own ??= new Worker("/assets/${file}", { type: "module" });
      worker.onmessage = ({ data }) => data.run ? resolve(data.run) : reject(new Error(data.error));
      worker.postMessage(${request});
    })`);
  }

  test("twenty seeds have the hashes of Node, in the lab's worker", async () => {
    await page.goto(`${origin}/lab`);
    for (let seed = 1; seed <= 20; seed += 1) {
      const plan = promisedPlan(seed);
      const { hash } = await inWorker(plan, 3000);
      expect(hash, `seed ${seed}`).toBe((await runPlan(plan, { maxEvents: 3000 })).hash);
    }
  });

  test("ten clients on one hot lock run faster than in reality", async () => {
    await page.goto(`${origin}/lab`);
    const plan = turned(planOf({ run: { story: "queue", seed: 1, isWith: true } }), "clients", 10);
    const speeds: number[] = [];
    for (let run = 0; run < 8; run += 1) {
      const { simulated, took } = await inWorker(plan);
      speeds.push(simulated / took);
    }
    const fastest = Math.max(...speeds);
    console.log(`the lab: ${fastest.toFixed(1)} simulated seconds a second with ten clients on one hot lock`);
    expect(fastest).toBeGreaterThan(1);
  });

  test("two holders are red, with a sentence that says why; a click shows the rule, which can be read", async () => {
    await openLab(page, `${origin}/lab#story=clock&seed=1&without`);
    expect(await page.locator("#sentence.danger").textContent()).toContain(
      "C voted twice: wall clock set by +20,000 ms",
    );
    // The bar of the first client's hold.
    await page.locator("#chart").click({ position: { x: 400, y: 122 } });
    await expect
      .poll(() => page.locator("#detail").textContent(), soon)
      .toMatch(/client-0.*Rule \d.*packages\/redlock\/src\//);
    await page.locator("#detail a").click();
    await page.waitForURL(/protocol#rule-/);
    expect(await page.locator(`[id="${new URL(page.url()).hash.slice(1)}"]`).textContent()).toMatch(
      /^\d+\.\d+ /,
    );
  });

  test("what is done by hand is in the address, and replays to the same hash in Node", async () => {
    await openLab(page, `${origin}/lab#story=split&seed=1`);
    await page.locator("#seed").fill("-1");
    await page.locator("#seed").press("Enter");
    await expect.poll(() => page.locator("#seed").inputValue(), soon).toBe("1");
    const before = await page.locator("#hash").textContent();
    await page.locator("#step").click();
    await page.locator("#step").click();
    await page.locator("#process").selectOption("master-2");
    await page.getByRole("button", { name: "Kill" }).click();
    await expect.poll(() => page.locator("#hash").textContent(), soon).not.toBe(before);
    await page.locator("#knobs input[name=clients]").fill("5");
    await expect.poll(() => page.locator("#knobs").textContent(), soon).toContain("Clients: 5");
    await ready(page);
    const link = page.url();
    expect(link).toContain("#plan=");
    const { plan } = await replayFileOf(link);
    expect(plan.clients).toHaveLength(5);
    expect(plan.faults.at(-1)).toMatchObject({ kind: "crash", masters: [2] });
    const { hash } = await runPlan(plan);
    expect(await page.locator("#hash").textContent()).toBe(hash);
    // The link opens the same moment of the same run.
    const moment = await page.locator("#moment").textContent();
    await page.goto("about:blank");
    await openLab(page, link);
    expect(await page.locator("#hash").textContent()).toBe(hash);
    expect(await page.locator("#moment").textContent()).toBe(moment);
    expect(complaints).toEqual([]);
  });

  test("a story begins to play at its event, and stops behind it; the queue counts waits", async () => {
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await openLab(page, `${origin}/lab#story=queue&seed=1`);
    expect(await page.locator("#play").textContent()).toBe("Pause");
    expect(await page.locator("#waits").textContent()).toMatch(/^48 locks; .* no call is overtaken$/);
    // The first second of five.
    await expect.poll(() => page.locator("#play").textContent(), { timeout: 30_000 }).toBe("Play");
    expect(await page.locator("#moment").textContent()).toMatch(/^1,0\d\d/);
    expect(page.url()).not.toContain("at=");
    await page.locator("#option").uncheck();
    await expect
      .poll(() => page.locator("#waits").textContent(), soon)
      .toMatch(/overtaken up to \d\d times$/);
    await page.emulateMedia({ reducedMotion: "reduce" });
  });

  test("the lab plays, pauses and steps, with the keyboard too", async () => {
    await openLab(page, `${origin}/lab#story=pause&seed=1`);
    await page.locator("#chart").focus();
    await page.keyboard.press("Space");
    await expect.poll(() => page.locator("#moment").textContent(), soon).toMatch(/^[1-9][\d,.]* ms$/);
    await page.locator("#play").click();
    expect(await page.locator("#play").textContent()).toBe("Play");
    await page.locator("#head").fill("2900000");
    await page.locator("#step").click();
    await expect
      .poll(() => page.locator("#sentence").textContent(), soon)
      .toContain("the resource turns it away");
    expect(page.url()).toMatch(/story=pause&seed=1&at=3\d+/);
  });

  test("the lab hinders nobody, fits on narrow screens, and is painted within a second", async () => {
    for (const colorScheme of ["light", "dark"] as const)
      for (const width of [1280, 390]) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.setViewportSize({ width, height: 900 });
        await page.goto("about:blank");
        await openLab(page, `${origin}/lab#story=clock&seed=1&without&at=400`);
        expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(
          width,
        );
        expect(await findingsOf(page)).toEqual([]);
        const [chart, title] = [
          await page.locator("#chart").boundingBox(),
          await page.locator("#title").boundingBox(),
        ];
        // On a phone the picture comes first.
        expect(chart!.y < title!.y).toBe(width === 390);
        await page.screenshot({ path: join(shots, `lab-${colorScheme}-${width}.png`), fullPage: true });
      }
    await page.setViewportSize({ width: 1280, height: 900 });
    const paint = await page.evaluate<number>(
      `performance.getEntriesByName("first-contentful-paint")[0].startTime`,
    );
    console.log(`the lab: first contentful paint after ${paint.toFixed(0)} ms`);
    // A second on a machine that does nothing else.
    expect(paint).toBeLessThan(5000);
  });
});

/** Other work may have the processor. */
const soon = { timeout: 60_000 };

async function openLab(page: Page, url: string): Promise<void> {
  // A change of the hash alone would load nothing.
  await page.goto("about:blank");
  await page.goto(url);
  await ready(page);
}

/** The run has ended, and is shown. */
async function ready(page: Page): Promise<void> {
  await expect.poll(() => page.locator("#result").getAttribute("aria-busy"), soon).toBe("false");
}

/** The findings of axe-core in the page or in a part of it, each with its first place. */
function findingsOf(page: Page, part = "document"): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`(async () => {
    if (!globalThis.axe) { ${axe} }
    const { violations } = await axe.run(${part}, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => id + " (" + nodes.length + "): " + nodes[0].html.slice(0, 150));
  })()`);
}
