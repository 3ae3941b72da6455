import { cp, mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { Child } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { describe, expect, test } from "vitest";
import { userEnvironment } from "./environment.ts";

// Applications of frameworks as their own tools make, build, test and start them, over the packed package.

const users = join(import.meta.dirname, "users");
/** The answer of each application: it has locked, was refused the same lock, and has released it. */
const sold = { released: "released", refused: true };

function isSource(path: string): boolean {
  return !path.includes("node_modules");
}

/** `application` of `users` beside the package, with its own dependencies. */
async function applicationIn(folder: string, application: string, sources: string): Promise<string> {
  const copy = join(folder, "user", application);
  await mkdir(copy);
  for (const from of new Set([application, sources])) {
    await cp(join(users, from), copy, { recursive: true, filter: isSource });
  }
  await symlink(join(users, application, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** A tool of the application's own dependencies, without what this process runs under. */
function tool(cwd: string, file: string, args: readonly string[], masters?: readonly string[]): Child {
  const env = { ...userEnvironment, NEXT_TELEMETRY_DISABLED: "1", PORT: "0", MASTERS: masters?.join(",") };
  return Child.node(join(cwd, file), args, { cwd, env });
}

async function expectSuccess(child: Child): Promise<string> {
  const { code, output, errors } = await child.ended;
  expect({ code, output, errors }).toMatchObject({ code: 0 });
  return output + errors;
}

/** The answer of a server that prints its address. */
async function answerOf(server: Child, path: string): Promise<unknown> {
  const address = /https?:\/\/\S+:\d+/;
  const url = await server.until("its address", () => address.exec(server.output)?.[0]);
  await server.printed(/Ready in|https?:\/\/\S+:\d+\n$/);
  const response = await fetch(new URL(path, url));
  return await response.json();
}

export function applicationsSuite(folderOf: () => string): void {
  describe.each(["10", "11"])("NestJS %s as `nest new` makes it", (version) => {
    let application: string;

    test("is compiled", async () => {
      application = await applicationIn(folderOf(), `nest-${version}`, "nest");
      await expectSuccess(
        tool(application, "node_modules/typescript/bin/tsc", ["-p", "tsconfig.build.json"]),
      );
    });

    // Its runner compiles all of it again, and both versions compile alike.
    if (version === "11") {
      test("passes its tests", async () => {
        await using masters = await startMasters(3, { say: () => {} });
        const runner = tool(application, "node_modules/jest/bin/jest.js", [], masters.urls);
        expect(await expectSuccess(runner)).toContain("Tests:       1 passed, 1 total");
      });
    }

    test("locks", async () => {
      await using masters = await startMasters(3, { say: () => {} });
      await using server = tool(application, "dist/main.js", [], masters.urls);
      expect(await answerOf(server, "/")).toEqual(sold);
      server.process.kill();
      expect((await server.ended).signal).toBe("SIGTERM");
    });
  });

  test("Next.js locks in a route, which is bundled", async () => {
    const application = await applicationIn(folderOf(), "next", "next");
    const next = "node_modules/next/dist/bin/next";
    const began = performance.now();
    await expectSuccess(tool(application, next, ["build"]));
    console.log(`next build: ${((performance.now() - began) / 1000).toFixed(1)} s`);
    const trace = await readFile(join(application, ".next/server/app/sale/route.js.nft.json"), "utf8");
    expect(trace).not.toContain("@quorlock");
    await using masters = await startMasters(3, { say: () => {} });
    await using server = tool(application, next, ["start", "--hostname", "127.0.0.1"], masters.urls);
    expect(await answerOf(server, "/sale")).toEqual(sold);
  });
}
