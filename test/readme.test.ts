import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { sourceFlags } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { describe, expect, test } from "vitest";
import { documents } from "./architecture/words.ts";
import { pageOf, recordedResults, withComparison } from "./conformance/table.ts";

// The README as its readers use it: its lines run, its links lead somewhere, its table says what was measured.

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(repository, file), "utf8");

/** The first block of TypeScript: the lines that a reader copies. */
function quickStartOf(file: string): string {
  const [, lines] = /```ts\n(.+?)```/s.exec(read(file)) ?? [];
  if (lines === undefined) throw new Error(`${file} has no block of TypeScript`);
  return lines;
}

/** A module that leads connections to the ports of the README to those of `masters`. */
function leadTo(masters: readonly { readonly port: number }[]): string {
  const ports = Object.fromEntries(masters.map(({ port }, index) => [6381 + index, port]));
  const program = `
    import { Socket } from "node:net";
    const ports = ${JSON.stringify(ports)};
    const { connect } = Socket.prototype;
    Socket.prototype.connect = function (first, ...rest) {
      const options = Array.isArray(first) ? first[0] : first;
      options.port = ports[options.port] ?? options.port;
      return connect.call(this, first, ...rest);
    };`;
  return `data:text/javascript,${encodeURIComponent(program)}`;
}

describe("the lines of the README", () => {
  test("run as they are printed, and end", async () => {
    await using masters = await startMasters(5, { say: () => {} });
    const flags = ["--import", leadTo(masters.list), ...sourceFlags];
    const { stdout, stderr } = await run(
      process.execPath,
      [...flags, "--input-type=module", "--eval", quickStartOf("README.md")],
      // From here the packages are found. Lines that never end are killed, and fail.
      { cwd: join(repository, "examples"), timeout: 45_000 },
    );
    // A slow machine may miss the time-out of a single master, which the error listener prints.
    expect(stderr.replace(/^localhost:\d+: TIMEOUT: .*\n/gm, "")).toBe("");
    expect(stdout).toBe("no other process holds invoice:42\n");
  });

  test("say of each server why it does not answer, in one line", async () => {
    const flags = [...sourceFlags, "--input-type=module", "--eval"];
    const lines = quickStartOf("README.md").replace("ready()", "ready({ timeout: 2000 })");
    // Ports where nothing listens.
    const running = run(process.execPath, [...flags, lines.replaceAll(/\b638(\d)\b/g, "$1")], {
      cwd: join(repository, "examples"),
    });
    const { stderr } = (await running.then(
      () => ({ stderr: "it found servers" }),
      (error: unknown) => error,
    )) as { readonly stderr: string };
    const reasons = stderr.split("\n").filter((line) => line.includes("ECONNREFUSED"));
    expect(reasons).toEqual(
      [1, 2, 3, 4, 5].map((port) =>
        expect.stringMatching(`^  localhost:${port}: UNREACHABLE: connect ECONNREFUSED`),
      ),
    );
  });

  test("are those of the package's README, eleven of them", () => {
    const lines = quickStartOf("README.md");
    expect(quickStartOf("packages/redlock/README.md")).toBe(lines);
    expect(lines.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(11);
    expect(lines).toContain('redlock.on("error"');
    expect(lines).toContain("await redlock.ready();");
    expect(lines).toContain("await redlock.quit();");
  });
});

test("the first page has at most three pictures", () => {
  expect(read("README.md").match(/!\[/g)).toHaveLength(3);
});

test("the comparison and docs/conformance.md are those of the recorded results", () => {
  const readme = read("README.md");
  expect(withComparison(readme, recordedResults())).toBe(readme);
  expect(pageOf(recordedResults())).toBe(read("docs/conformance.md"));
});

/** All that are tracked, but for the reports of the packages' types. */
const pages = documents()
  .map(({ file }) => file)
  .filter((file) => !file.endsWith(".api.md"));

/** As GitHub names the heading in an address. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

function isThere(page: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const file = path === "" ? page : relative(repository, join(repository, dirname(page), path));
  if (!existsSync(join(repository, file))) return false;
  // A run of the lab: packages/site/src/site.deep.test.ts opens them.
  if (file === "packages/site/lab.md" && anchor?.startsWith("story=")) return true;
  if (anchor === undefined || statSync(join(repository, file)).isDirectory()) return true;
  return read(file)
    .split("\n")
    .some((line) => /^#+ /.test(line) && anchorOf(line.replace(/^#+ /, "")) === anchor);
}

const proseOf = (page: string): string => read(page).replaceAll(/```.*?```/gs, "");

test.each(documents().filter(({ words, writtenBy }) => words > 500 && !writtenBy))(
  "$file has a table of contents, since it is longer than two screens",
  ({ file }) => {
    const headings = [...proseOf(file).matchAll(/^## (.+)$/gm)].map(([, heading]) => anchorOf(heading!));
    if (headings.length < 2) return;
    expect(headings.filter((heading) => !read(file).includes(`](#${heading})`))).toEqual([]);
  },
);

test("the pages of the client say master, and neither server nor node", () => {
  const found = documents()
    .filter(({ file, writtenBy }) => file.startsWith("packages/redlock/docs/") && !writtenBy)
    .flatMap(({ file }) =>
      proseOf(file)
        .replaceAll(/`[^`\n]*`|\]\([^)]*\)/g, "")
        .split("\n"),
    )
    .filter((line) => /\b([Ss]ervers?|nodes?(?!-))\b/.test(line));
  expect(found).toEqual([]);
});

test.each(pages)("the links of %s lead somewhere", (page) => {
  // Without blocks of code, where brackets are code.
  const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  const local = links.filter((link) => !/^https?:/.test(link));
  expect(local.filter((link) => !isThere(page, link))).toEqual([]);
});
