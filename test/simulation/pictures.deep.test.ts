import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Plan } from "@quorlock/simulation";
import { findChromium } from "@quorlock/testbed";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { viewer } from "../../packages/simulation/src/cli/viewer.ts";
// The package has no name for its pictures: the command line writes them.
import { record } from "../../packages/simulation/src/pictures/recording.ts";
import { timeline } from "../../packages/simulation/src/pictures/timeline.ts";
import { twoHolders } from "./two-holders.ts";

// The pages as people see them: in a real Chromium, clicked and looked at. Screenshots stay in `shots`.

const shots = fileURLToPath(new URL("../../node_modules/.pictures/", import.meta.url));
/** Other work may have the processor. */
const soon = { timeout: 15_000 };

const executable = await findChromium();

interface Screen {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: "light" | "dark";
}

describe("the picture of a run, in Chromium", () => {
  let browser: Browser;
  const complaints: string[] = [];

  beforeEach((context) => {
    if (typeof executable === "string") return;
    console.log(`SKIPPED: there is no Chromium to look at pictures with: ${executable.missing}`);
    context.skip(executable.missing);
  });

  beforeAll(async () => {
    if (typeof executable !== "string") return;
    await mkdir(shots, { recursive: true });
    // Tests run as root in containers, where Chromium's own sandbox cannot be had.
    browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
  });

  afterAll(() => browser?.close());

  async function open(
    plan: Plan,
    { width = 1280, height = 1400, colorScheme = "light" }: Partial<Screen> = {},
  ): Promise<Page> {
    const recording = await record(plan);
    const file = `${shots}seed-${plan.seed}-${plan.faults.length}-faults.html`;
    await writeFile(
      file,
      timeline(recording, { command: `pnpm sim run --seed ${plan.seed}` }, await viewer()),
    );
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme,
      reducedMotion: "reduce",
      offline: true,
    });
    const page = await context.newPage();
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(pathToFileURL(file).href);
    await expect.poll(() => page.locator("#range").textContent(), soon).not.toBe("");
    return page;
  }

  test("a click on a violation shows it: the band is red, and its message shows command, reply and times", async () => {
    const page = await open(twoHolders);
    expect(await page.locator("h1").textContent()).toContain("violated");
    await page.getByRole("button", { name: /while client-0 still believed/ }).click();
    await expect.poll(() => page.locator("#range").textContent(), soon).toMatch(/^9\d\d ms – 1,0\d\d ms$/);
    await page.screenshot({ path: `${shots}two-holders.png`, fullPage: true });
    expect(await shareOfRed(page)).toBeGreaterThan(0.03);

    const told = await hoverUntil(page, /client-1 → master-/, 0.315);
    expect(told).toMatch(/command\s*(SET|EVALSHA)/);
    expect(told).toMatch(/reply\s*\S/);
    expect(told).toMatch(/sent\s*[\d,.]+ ms/);
    expect(told).toMatch(/heard\s*[\d,.]+ ms, after \d/);
    await page.screenshot({ path: `${shots}message.png`, fullPage: true });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("wheel, buttons and keys zoom and move", async () => {
    const page = await open(twoHolders);
    const range = page.locator("#range");
    await page.getByRole("button", { name: "Whole run" }).click();
    await expect.poll(() => range.textContent(), soon).toMatch(/^0 ms – 3,0\d\d ms$/);
    const all = await range.textContent();
    const box = (await page.locator("#chart").boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + 200);
    await page.mouse.wheel(0, -300);
    await expect.poll(() => range.textContent(), soon).not.toBe(all);
    const nearer = await range.textContent();
    await page.locator("#chart").focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => range.textContent(), soon).not.toBe(nearer);
    await page.keyboard.press("0");
    await expect.poll(() => range.textContent(), soon).toBe(all);
    await page.getByRole("button", { name: "Zoom in" }).click();
    await expect.poll(() => range.textContent(), soon).not.toBe(all);
    // From event to event, told to those who do not see it too.
    await page.locator("#chart").focus();
    await page.keyboard.press(".");
    await expect
      .poll(() => page.locator("#spoken").textContent(), soon)
      .toContain("client-0 holds resource-0");
    expect(await page.locator("#tooltip").textContent()).toContain("client-0 holds resource-0");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("the run plays, and a click shows the rule and the file, as in the lab", async () => {
    const page = await open(twoHolders);
    expect(await page.locator("#sentence.danger").textContent()).toMatch(
      /Two holders: client 1 .*voted twice: /,
    );
    await page.locator("#head").fill("0");
    await page.locator("#chart").focus();
    await page.keyboard.press("Space");
    await expect.poll(() => page.locator("#moment").textContent(), soon).toMatch(/^[1-9][\d,.]* ms$/);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Whole run" }).click();
    await hoverUntil(page, /client-0 holds/, 0.3);
    await page.mouse.down();
    await page.mouse.up();
    expect(await page.locator("#detail").textContent()).toMatch(
      /Rule 3\.2: .*packages\/redlock\/src\/protocol\/lease\.ts/,
    );
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("nothing is red where nothing was violated", async () => {
    const ideal = twoHolders.masters.map((master) => ({ ...master, rate: 0 }));
    const page = await open({ ...twoHolders, masters: ideal, faults: [] });
    expect(await page.locator("h1").textContent()).toContain("ok");
    expect(await shareOfRed(page)).toBe(0);
    await page.context().close();
  });

  test("on a telephone, in the dark, nothing is wider than the screen", async () => {
    const page = await open(twoHolders, { width: 390, height: 844, colorScheme: "dark" });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await page.screenshot({ path: `${shots}telephone.png`, fullPage: true });
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

/** Points at places of a column from above until the tooltip says what is looked for. */
async function hoverUntil(page: Page, title: RegExp, share: number): Promise<string> {
  const box = (await page.locator("#chart").boundingBox())!;
  for (let y = 40; y < box.height; y += 4) {
    await page.mouse.move(box.x + box.width * share, box.y + y);
    const text = (await page.locator("#tooltip").textContent()) ?? "";
    if (title.test(text)) return text;
  }
  return "";
}

/** Of the pixels of the chart, those of the band's pale red. */
async function shareOfRed(page: Page): Promise<number> {
  const picture = (await page.locator("#chart").screenshot()).toString("base64");
  return page.evaluate<number>(`(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${picture}";
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0);
    const { data } = pen.getImageData(0, 0, image.width, image.height);
    let red = 0;
    for (let index = 0; index < data.length; index += 4) {
      const [r, g, b] = data.subarray(index, index + 3);
      if (r > 230 && g < 230 && g <= b) red += 1;
    }
    return red / (data.length / 4);
  })()`);
}
