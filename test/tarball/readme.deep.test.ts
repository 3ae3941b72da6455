import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startDockerEngine, withFreePort } from "@quorlock/testbed";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userEnvironment } from "./environment.ts";
import { repository } from "./published.ts";

// The set-up of the README, block by block, as its readers paste it: in a clone, and in an empty folder of their own.

const run = promisify(execFile);
const readme = await readFile(join(repository, "README.md"), "utf8");
const blocks = [...readme.matchAll(/```sh\n(.+?)```/gs)].map(([, text]) => text!);
const [, composed = "", servers = "", packing = "", installing = "", typed = "", others = ""] = blocks;
const [decomposing, stopping] = [...readme.matchAll(/They stop by `([^`]+)`/g)].map(([, text]) => text!);
const [, lines] = /```ts\n(.+?)```/s.exec(readme)!;
const [, imports, rest] = /^((?:import [^\n]+\n)+)(.+)$/s.exec(lines!)!;

let folder: string;
let ports: readonly number[];

/** With ports and a folder of its own. */
const own = (text: string, at: readonly number[] = ports): string =>
  text
    .replaceAll(/\b638(\d)\b/g, (_, digit: string) => `${at[Number(digit) - 1]}`)
    .replaceAll("/tmp", join(folder, "made"));

async function freePorts(): Promise<readonly number[]> {
  const free = new Set<number>();
  while (free.size < 5) free.add(await withFreePort(async (port) => port));
  return [...free];
}

interface User {
  readonly uid?: number;
  readonly gid?: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

async function paste(text: string, cwd: string, user: User = {}, more: Environment = {}): Promise<string> {
  const env = { ...userEnvironment, npm_config_user_agent: undefined, ...more };
  if (user.uid !== undefined) Object.assign(env, { HOME: cwd, npm_config_cache: undefined });
  const { stdout, stderr } = await run("sh", ["-ec", own(text)], { cwd, env, ...user });
  return stdout + stderr;
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "quorlock-readme-")));
  ports = await freePorts();
  await chmod(folder, 0o755);
  await mkdir(join(folder, "servers"));
  await paste(servers, join(folder, "servers"));
  await run("git", ["clone", "--quiet", repository, join(folder, "clone")]);
  await paste(packing, join(folder, "clone"));
}, 600_000);
afterAll(async () => {
  await paste(stopping!, folder);
  await rm(folder, { recursive: true, force: true });
});

const nobody: User = { uid: 65_534, gid: 65_534 };
const users: readonly (readonly [string, User])[] =
  process.getuid?.() === 0
    ? [
        ["root", {}],
        ["nobody", nobody],
      ]
    : [["a user", {}]];
const managers = [
  ["npm", "npm install"],
  ["pnpm", "npx -y pnpm@12 add"],
  ["yarn", "npx -y yarn@1 add"],
] as const;
const held = "no other process holds invoice:42\n";

describe.each(users)("as %s", (name, user) => {
  test.each(managers)(
    "with %s, as JavaScript and TypeScript, ES modules and CommonJS",
    async (manager, add) => {
      const project = join(folder, `${name}-${manager}`);
      await mkdir(project);
      if (user.uid !== undefined) await run("chown", [`${user.uid}:${user.gid}`, project]);
      const save = (file: string, text: string) => writeFile(join(project, file), own(text));
      const here = (text: string) => paste(text.replaceAll("npm install", add), project, user);
      await save("lock.mjs", lines!);
      expect(await here(installing)).toContain(held);
      await save("lock.mts", lines!);
      // The compiler writes another file of that name.
      await rm(join(project, "lock.mjs"));
      expect((await here(typed)).split(held)).toHaveLength(3);
      await save("lock.cts", `${imports}async function main() {\n${rest}}\nvoid main();\n`);
      const compiled = typed
        .split("\n")
        .at(-2)!
        .replace("lock.mts", "lock.cts")
        .replace("lock.mjs", "lock.cjs");
      expect(await here(compiled)).toContain(held);
    },
    300_000,
  );
});

test("the doctor runs from the clone, and the other packages are made there", async () => {
  const one = others
    .replace(/in simulation .+?;/, "in opentelemetry;")
    .replace(/(doctor .+)\n/, "$1 || true\n");
  const told = await paste(one, join(folder, "clone"));
  for (const port of ports.slice(0, 3)) expect(told).toContain(`${port}`);
  expect(told).toContain("quorlock-opentelemetry-0.1.0.tgz");
}, 300_000);

test("five masters by Docker hold the lock, and stop", async (context) => {
  const engine = await startDockerEngine().catch((error: Error) => {
    console.log(`SKIPPED: the block of Docker is not pasted: ${error.message}`);
    return context.skip(error.message);
  });
  await using _ = engine;
  const [clone, project, at] = [join(folder, "clone"), join(folder, "docker"), await freePorts()];
  const { DOCKER_HOST, PATH } = process.env;
  const host = {
    DOCKER_HOST: engine.host ?? DOCKER_HOST,
    PATH: `${join(repository, "node_modules/.bin")}:${PATH}`,
  };
  const image = await paste("sh .ci/with-image printenv REDLOCK_IMAGE", repository, {}, host);
  const isThere = await paste("docker compose version", folder, {}, host).then(
    () => true,
    () => false,
  );
  const environment = {
    ...host,
    ...(!isThere && { DOCKER_CONFIG: join(repository, ".ci") }),
    ...Object.fromEntries(at.map((port, index) => [`REDLOCK_PORT_${index + 1}`, `${port}`])),
    REDLOCK_IMAGE: image.trim().split("\n").at(-1),
    COMPOSE_PROJECT_NAME: `quorlock-readme-${at[0]}`,
  };
  const typedIn = (text: string) => paste(text, clone, {}, environment);
  const ofProject = "--quiet --filter label=com.docker.compose.project=$COMPOSE_PROJECT_NAME";
  const made = `docker ps --all ${ofProject}; docker volume ls ${ofProject}`;
  await typedIn(composed);
  try {
    expect((await typedIn(made)).match(/\n/g)).toHaveLength(10);
    await mkdir(project);
    await writeFile(join(project, "lock.mjs"), own(lines!, at));
    expect(await paste(installing, project)).toContain(held);
  } finally {
    await typedIn(decomposing!);
  }
  expect(await typedIn(made)).toBe("");
}, 300_000);
