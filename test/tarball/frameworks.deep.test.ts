import { execFile } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { Child } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { keptReports, reportsIn, writeReports } from "./api-reports.ts";
import { userEnvironment } from "./environment.ts";

// The packages for frameworks as users get them: a new project installs them with its framework, and runs the example of the README.

const run = promisify(execFile);
const projects = [
  ["fastify", "Fastify 5", ["fastify@5"]],
  ["express", "Express 5", ["express@5", "@types/express@5"]],
  ["express", "Express 4", ["express@4", "@types/express@4"]],
  ["nestjs", "NestJS 11", nest("11", "6")],
  ["nestjs", "NestJS 12", nest("12", "12")],
] as const;

function nest(version: string, ofSchedule: string): readonly string[] {
  const own = ["common", "core", "platform-express"].map((name) => `@nestjs/${name}@${version}`);
  const others = [`@nestjs/schedule@${ofSchedule}`, `@nestjs/terminus@${version}`, "reflect-metadata@0.2"];
  return [...own, ...others, "rxjs@7", "typescript@5.9", "@types/node@20"];
}

/** The settings of `nest new`, as far as it matters here. */
const decorators = ["experimentalDecorators", "emitDecoratorMetadata", "strictNullChecks", "skipLibCheck"]
  .map((option) => `--${option}`)
  .concat("--module", "nodenext", "--target", "es2023");

let folder: string;
const tarballs = inject("tarballs");

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "quorlock-frameworks-")));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The service that the examples call; it answers a payment when the test says so. */
class Backend {
  readonly server: Server = createServer((asked, response) => this.#serve(asked, response));
  reports = 0;
  readonly payments: ServerResponse[] = [];
  mostPayments = 0;
  #onPayment = (): void => {};

  #serve(asked: IncomingMessage, response: ServerResponse): void {
    if (asked.url === "/report") {
      this.reports += 1;
      response.end();
      return;
    }
    this.payments.push(response);
    this.mostPayments = Math.max(this.mostPayments, this.payments.length);
    response.once("close", () => void this.payments.splice(this.payments.indexOf(response), 1));
    this.#onPayment();
  }

  async start(): Promise<string> {
    await once(this.server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The payment that is under way, once there is one. */
  async payment(): Promise<ServerResponse> {
    const begun = new Promise<void>((resolve) => {
      this.#onPayment = resolve;
    });
    if (this.payments.length === 0) await begun;
    return this.payments[0]!;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await once(this.server.close(), "close");
  }
}

describe.each(projects)("a new project with @quorlock/%s, %s and the example of the README", (...project) => {
  const [name, framework, dependencies] = project;
  let user: string;
  let program: string;
  let masters: Masters;
  let backend: Backend;
  let instances: Child[] = [];
  let urls: string[];

  beforeAll(async () => {
    user = join(folder, framework.replace(" ", "-"));
    await mkdir(user);
    await writeFile(join(user, "package.json"), '{ "private": true }');
    const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", tarballs["redlock"]!];
    await run("npm", [...install, tarballs[name]!, "ioredis@6", ...dependencies], { cwd: user });
    const readme = await readFile(join(user, "node_modules/@quorlock", name, "README.md"), "utf8");
    const [, , file, example] = readme
      .split("```")
      .map((block) => /^(js|ts)\n\/\/ (\S+)\n([\s\S]+)$/.exec(block))
      .find((found) => found !== null)!;
    await writeFile(join(user, file!), example!);
    program = join(user, "server.mjs");
    if (name !== "nestjs") return;
    program = join(user, "dist/main.js");
    const options = [...decorators, "--outDir", "dist", "main.ts"];
    await run(process.execPath, [join(user, "node_modules/typescript/bin/tsc"), ...options], { cwd: user });
  }, 600_000);

  const pay = (index: number): Promise<Response> =>
    fetch(`${urls[index % 2]}/invoices/42/payment`, { method: "POST" });

  describe("in two instances", () => {
    beforeEach(async () => {
      masters = await startMasters(3, { say: () => {} });
      backend = new Backend();
      const env = {
        ...userEnvironment,
        MASTERS: masters.urls.join(),
        PORT: "0",
        BACKEND: await backend.start(),
      };
      instances = [1, 2].map(() => Child.node(program, [], { cwd: user, env }));
      urls = await Promise.all(
        instances.map((instance) =>
          instance.until("its URL", () => /http:\/\/[\w.[\]:]+:\d+/.exec(instance.output)?.[0]),
        ),
      );
    });
    afterEach(async () => {
      await Promise.all(instances.map((instance) => instance.kill()));
      await backend.stop();
      await masters.stop();
    });

    test("pays once when 100 requests come at once to two instances, refuses 99, and runs its job once", async () => {
      const statuses: Record<number | string, number> = {};
      let answers = 0;
      await Promise.all(
        Array.from({ length: 100 }, async (_, index) => {
          const { ok, status } = await pay(index);
          const kind = ok ? "ok" : status;
          statuses[kind] = (statuses[kind] ?? 0) + 1;
          answers += 1;
          if (answers === 99) (await backend.payment()).end();
        }),
      );
      // On a busy machine some find no quorum within the time-outs of the README's settings, and are refused as well.
      const { ok, 409: locked = 0, 503: without = 0 } = statuses;
      expect({ ok, refused: locked + without }).toEqual({ ok: 1, refused: 99 });
      expect(locked).toBeGreaterThan(50);
      expect(backend.mostPayments).toBe(1);
      expect(backend.reports).toBe(1);
      console.log(`${framework}: of 100 requests ${ok} succeeded, ${locked} were 409`);
    });

    test("prints a line for each change of a master's state in an outage of 20 s, and none for each failure", async () => {
      const before = instances.map(({ output, errors }) => output.length + errors.length);
      for (const master of masters.list) await master.kill();
      const until = performance.now() + 20_000;
      let refused = 0;
      for (let index = 0; performance.now() < until; index += 1) {
        const { status } = await pay(index);
        if (status === 503) refused += 1;
        await pause(50);
      }
      for (const master of masters.list) await master.restart();
      for (const index of [0, 1]) {
        let response: Response;
        do {
          const paying = pay(index);
          void backend.payment().then((payment) => payment.end());
          response = await paying;
        } while (!response.ok);
      }
      const lines = instances.flatMap(({ output, errors }, index) =>
        `${output}${errors}`
          .slice(before[index])
          .split("\n")
          // Fastify logs each request.
          .filter((line) => line !== "" && !line.includes('"reqId":')),
      );
      console.log(`${framework}: ${refused} requests refused, ${lines.length} lines`);
      expect(refused).toBeGreaterThan(20);
      // Of each of three masters, in each of two instances: it fails, and it answers again, each on at most two lines.
      expect(lines.filter((line) => /master \S+ fails/.test(line)).length).toBeGreaterThanOrEqual(6);
      expect(lines.length).toBeLessThanOrEqual(3 * 2 * 2 * 2);
    });

    test("ends by SIGTERM", async () => {
      for (const instance of instances) instance.process.kill();
      const endings = await Promise.all(instances.map((instance) => instance.ended));
      // NestJS ends with the signal that it was ended by.
      const expected = name === "nestjs" ? { code: null, signal: "SIGTERM" } : { code: 0, signal: null };
      expect(endings).toMatchObject([expected, expected].map((end) => ({ ...end, errors: "" })));
    });
  });

  test("is loaded by require() as well", async () => {
    const names = `console.log(Object.keys(require("@quorlock/${name}")).sort().join())`;
    const modules = `import("@quorlock/${name}").then((all) => console.log(Object.keys(all).filter((name) => !["default", "module.exports"].includes(name)).sort().join()))`;
    const [required, imported] = await Promise.all(
      [names, modules].map((code) =>
        run(process.execPath, ["--eval", code], { cwd: user, env: userEnvironment }),
      ),
    );
    expect(required!.stdout).toContain(name === "nestjs" ? "Locked" : "lockedWith");
    expect(required!.stdout).toBe(imported!.stdout);
  });

  // Once for each package, whatever its framework's version.
  if (projects.find(([other]) => other === name)![1] !== framework) return;

  test("has the API reports that are kept", async () => {
    const built = join(folder, "built", framework.replace(" ", "-"));
    await cp(join(user, "node_modules/@quorlock", name), built, { recursive: true });
    await symlink(join(user, "node_modules"), join(built, "node_modules"));
    await writeReports(built, join(built, "api"));
    expect(reportsIn(join(built, "api")), "`pnpm run api` writes them").toEqual(reportsIn(keptReports(name)));
    const manifest = await readFile(join(built, "package.json"), "utf8");
    expect(manifest).not.toMatch(/workspace:|catalog:|quorlock-source|devDependencies|scripts|\.\/src/);
    expect(manifest).not.toContain("@quorlock/http");
  });
});
