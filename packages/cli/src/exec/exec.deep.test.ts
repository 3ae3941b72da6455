import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child, type Ending, runProgram } from "@quorlock/simulation/processes";
import { type Proxy as FaultProxy, type Masters, startMasters, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { program } from "../built.ts";
import { clientOf, mastersFrom } from "../masters.ts";
import { execute } from "./exec.ts";

const folder = mkdtempSync(join(tmpdir(), "quorlock-exec-"));
let masters: Masters;
let admins: readonly Redis[];

beforeAll(async () => {
  masters = await startMasters(3, { source: "local-binary", say: () => {} });
  admins = masters.list.map(({ url }) => new Redis(url));
});
beforeEach(async () => {
  for (const admin of admins) await admin.flushall();
});
afterAll(async () => {
  for (const admin of admins) admin.disconnect();
  await masters.stop();
  rmSync(folder, { recursive: true });
});

function nodes(): Readonly<Record<string, string>> {
  return { REDLOCK_NODES: masters.list.map(({ url }) => url).join() };
}

function exec(...args: readonly string[]): Promise<Ending> {
  return runProgram(program, ["exec", ...args], { env: nodes() });
}

function lockBy(owner: string, key: string, count = 3): Promise<unknown> {
  return Promise.all(admins.slice(0, count).map((admin) => admin.set(key, owner, "PX", 60_000)));
}

async function fencingToken(): Promise<number> {
  return Number((await exec("job", "--fencing", "--", "sh", "-c", "echo $QUORLOCK_FENCING_TOKEN")).output);
}

describe("quorlock exec", () => {
  test("runs the command under the lock, returns its exit code and releases the lock", async () => {
    const script = "env | grep ^QUORLOCK_; exit 7";
    const { code, output, errors } = await exec("job", "--", "sh", "-c", script);
    expect({ code, output, errors }).toEqual({ code: 7, output: "QUORLOCK_RESOURCE=job\n", errors: "" });
    expect(await Promise.all(admins.map((admin) => admin.exists("job")))).toEqual([0, 0, 0]);
  });

  test("passes the fencing token in the environment, and it rises", async () => {
    const first = await fencingToken();
    expect(first).toBeGreaterThan(0);
    expect(await fencingToken()).toBeGreaterThan(first);
  });

  test("ends with 75 if another client holds the lock, without running the command", async () => {
    await lockBy("another", "job");
    const { code, output, errors } = await exec("job", "--wait", "0s", "--", "echo", "ran");
    expect({ code, output }).toEqual({ code: 75, output: "" });
    expect(errors).toMatch(/^quorlock: "job" is locked by .*\n$/);
  });

  test("ends with 69 if no quorum answers, and names each master that failed", async () => {
    const dead = ["127.0.0.1:1", "127.0.0.1:2"];
    const args = ["--master", masters.list[0]!.url, ...dead.flatMap((address) => ["--master", address])];
    const { code, output, errors } = await exec("job", ...args, "--wait", "1s", "--", "echo", "ran");
    expect({ code, output }).toEqual({ code: 69, output: "" });
    expect(errors).toMatch(/^quorlock: no quorum: .*127\.0\.0\.1:1.*127\.0\.0\.1:2/);
  });

  test.each([
    [["no-such-command"], 127],
    [[folder], 126],
    [["sh", "-c", "kill -TERM $$"], 143],
  ])("returns the code that a shell returns for %j", async (command, expected) => {
    expect((await exec("job", "--", ...command)).code).toBe(expected);
  });

  test.each([
    [["job"], "a command is missing: quorlock exec RESOURCE -- COMMAND"],
    [
      ["job", "--ttl", "30", "--", "true"],
      "option '--ttl <time>' argument '...' is invalid. Expected a time with its unit, such as 500ms, 30s or 5m.",
    ],
  ])("refuses %j with 64", async (args, message) => {
    expect(await exec(...args)).toMatchObject({ code: 64, output: "", errors: `quorlock: ${message}\n` });
  });

  test("passes SIGTERM on to the command, and ends with its code", async () => {
    const script = 'trap "echo stopped; exit 5" TERM; echo ready; while :; do sleep 0.05; done';
    await using child = Child.node(program, ["exec", "job", "--", "sh", "-c", script], { env: nodes() });
    await child.printed(/ready/);
    child.process.kill("SIGTERM");
    expect(await child.ended).toMatchObject({ code: 5, output: "ready\nstopped\n" });
  });

  test("ends with 130 if Ctrl-C ends the wait", async () => {
    await lockBy("another", "job");
    await using child = Child.node(program, ["exec", "job", "--wait", "1h", "--", "true"], { env: nodes() });
    // It waits once a master has its queue entry.
    await vi.waitFor(async () => expect(await admins[0]!.exists("quorlock:queue:{job}")).toBe(1), 20_000);
    child.process.kill("SIGINT");
    expect((await child.ended).code).toBe(130);
  });

  test("is killed: its command is killed with it", async () => {
    const held = join(folder, "killed");
    const script = `exec 9>${held}; flock -n 9; echo ready; sleep 600`;
    const child = Child.node(program, ["exec", "job", "--", "sh", "-c", script], { env: nodes() });
    await child.printed(/ready/);
    child.process.kill("SIGKILL");
    const after = await new Child("flock", [held, "echo", "free"]).ended;
    expect(after).toMatchObject({ code: 0, output: "free\n" });
  });

  test("is killed by the first act of its command: the command is killed with it", async () => {
    const children = Array.from({ length: 10 }, (_, index) =>
      Child.node(program, ["exec", `first-act-${index}`, "--", "sh", "-c", "kill -9 $PPID; sleep 600"], {
        env: nodes(),
      }),
    );
    // Its output ends with the last process that writes to it: not before the command has ended.
    for (const child of children) expect(await child.ended).toMatchObject({ signal: "SIGKILL" });
  });

  test("loses the lock and its command ends with 0: the code is 70", async () => {
    const script = 'trap "exit 0" TERM; echo ready; while :; do sleep 0.05; done';
    const args = ["exec", "job", "--ttl", "2s", "--", "sh", "-c", script];
    await using child = Child.node(program, args, { env: nodes() });
    await child.printed(/ready/);
    await lockBy("another", "job");
    const { code, errors } = await child.ended;
    expect(code).toBe(70);
    expect(errors).toContain("the lock is lost: the command gets SIGTERM now");
    expect(errors).toContain('the lock of "job" was lost before the command ended');
  });
});

/** In this process: fifty programs would take minutes to start. */
function run(addresses: readonly string[], name: string, script: string, said: string[]): Promise<number> {
  return execute(mastersFrom(addresses, {}, {}).map(clientOf), name, ["sh", "-c", script], {
    ttl: 3000,
    wait: 60_000,
    grace: 500,
    fencing: false,
    guard: undefined,
    environment: process.env,
    say: (line) => said.push(line),
  });
}

test("50 commands whose masters are cut off have ended before the next client runs its own", async () => {
  const proxies: FaultProxy[] = await Promise.all(masters.list.map((master) => startProxy(master)));
  for (let round = 0; round < 10; round += 1) {
    const names = Array.from({ length: 5 }, (_, index) => `cut-${round}-${index}`);
    const files = names.map((name) => join(folder, name));
    const [saidFirst, saidSecond]: [string[], string[]] = [[], []];
    // It ignores SIGTERM, and holds the file until it has ended.
    const first = names.map((name, index) => {
      const script = `exec 9>${files[index]}; flock -n 9; trap "" TERM; echo > ${files[index]}.ready; sleep 600`;
      return run(
        proxies.map(({ url }) => url),
        name,
        script,
        saidFirst,
      );
    });
    await vi.waitFor(() => expect(files.every((file) => existsSync(`${file}.ready`))).toBe(true), 30_000);
    for (const proxy of proxies) {
      proxy.dropRequests();
      proxy.dropReplies();
    }
    const second = names.map((name, index) => {
      const script = `exec 9>${files[index]}; flock -n 9 && echo alone > ${files[index]}.second`;
      return run(
        masters.list.map(({ url }) => url),
        name,
        script,
        saidSecond,
      );
    });
    expect(await Promise.all(first)).toEqual(names.map(() => 137));
    expect(await Promise.all(second)).toEqual(names.map(() => 0));
    expect(files.map((file) => readFileSync(`${file}.second`, "utf8"))).toEqual(names.map(() => "alone\n"));
    expect({ first: saidFirst.length, second: saidSecond }).toEqual({ first: 5, second: [] });
    for (const proxy of proxies) await proxy.heal();
  }
  for (const proxy of proxies) await proxy.stop();
});
