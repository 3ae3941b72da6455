import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { extname, join, relative } from "node:path";
import { runProgram } from "@quorlock/simulation/processes";
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
});

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

  test("lead to files and anchors that exist", () => {
    const dead: string[] = [];
    let links = 0;
    for (const path of allPages()) {
      for (const [, href = ""] of htmlOf(path).matchAll(/<a [^>]*?href="([^"]+)"/g)) {
        if (/^[a-z]+:/.test(href)) continue;
        links += 1;
        const { pathname, hash } = new URL(href, `http://site${path}`);
        if (!existsSync(fileFor(pathname))) dead.push(`${path}: ${href}`);
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
    page.on("console", (message) => complaints.push(`${page.url()}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
    page.on("request", (request) => requests.push(request.url()));
  });

  afterAll(() => browser?.close());

  test("ask for nothing elsewhere, say nothing on the console, and hinder nobody", async () => {
    const findings: string[] = [];
    for (const path of pages) {
      await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
      await page.goto(origin + path);
      findings.push(...(await findingsOf(page)).map((finding) => `${path}: ${finding}`));
    }
    for (const path of dark) {
      await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
      await page.goto(origin + path);
      findings.push(...(await findingsOf(page)).map((finding) => `${path}, dark: ${finding}`));
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
});

/** What axe-core finds, each with the first place of it. */
function findingsOf(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`(async () => {
    if (!globalThis.axe) { ${axe} }
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => id + " (" + nodes.length + "): " + nodes[0].html.slice(0, 150));
  })()`);
}
