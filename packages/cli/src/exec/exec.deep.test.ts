import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child, type Ending, runProgram } from "@quorlock/simulation/processes";
import { type Proxy as FaultProxy, type Masters, startMasters, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { program } from "../built.ts";
import { mastersFrom } from "../masters.ts";
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

/** A process that ignores SIGTERM, and holds the file until it has ended. */
function stubborn(held: string): string {
  return `sh -c 'trap "" TERM; exec 9>${held}; flock -n 9; echo worker $$; exec sleep 30'`;
}

/** Its command has ended with 5 after SIGTERM, and has left a process that ignores it: the lock is still held. */
async function leavesWorker(held: string): Promise<{ child: Child; worker: number }> {
  const script = `trap "echo gone; exit 5" TERM; ${stubborn(held)} & wait`;
  const child = Child.node(program, ["exec", "job", "--", "sh", "-c", script], { env: nodes() });
  await child.printed(/worker \d+\n/);
  child.process.kill("SIGTERM");
  await child.printed(/gone/);
  expect((await exec("job", "--wait", "0s", "--", "true")).code).toBe(75);
  return { child, worker: Number(/worker (\d+)/.exec(child.output)![1]) };
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

  test("does not print a password that a server repeats in its error", async () => {
    const config = ["--rename-command", "AUTH", "", "--rename-command", "HELLO", ""];
    await using strict = await startMasters(1, { source: "local-binary", config, say: () => {} });
    const { host, port } = strict.list[0]!;
    const address = `redis://:hunter2@${host}:${port}`;
    const { code, errors } = await runProgram(program, ["exec", "job", "--wait", "0s", "--", "true"], {
      env: { REDLOCK_NODES: address },
    });
    expect({ code, errors }).toEqual({
      code: 69,
      errors: `quorlock: no quorum: ${host}:${port}: ERR\n`,
    });
  });

  test("names the code with which a master refuses the connection", async () => {
    const { host, port } = masters.list[0]!;
    const locked = new Redis(port);
    await locked.config("SET", "requirepass", "hunter2");
    const { errors } = await exec("job", "--master", `${host}:${port}`, "--wait", "0s", "--", "true");
    await locked.config("SET", "requirepass", "");
    locked.disconnect();
    expect(errors).toBe(`quorlock: no quorum: ${host}:${port}: NOAUTH\n`);
  });

  // A shell corrects the one, and sets the other.
  test.each(["/elsewhere", undefined])(
    "passes on the environment as it is, PWD=%s included, without what reaches the masters",
    async (PWD) => {
      const odd = ["spring.datasource.url", "my-var", '-a"b\\c$d e', "BASH_FUNC_f%%", "1.a"];
      const values = odd.map((name, index) => [name, `"$HOME" \\ '${index}\n'`]);
      const ofShells = { IFS: ",", OPTIND: "9", PPID: "77", word: "hello" };
      const named = { ...Object.fromEntries(values), ...ofShells };
      const given = { PATH: process.env["PATH"]!, ...named, PWD, OLDPWD: PWD };
      const none = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
      const print = [process.execPath, "-p", "JSON.stringify(process.env)"];
      const { code, output } = await runProgram(program, ["exec", "job", "--", ...print], {
        env: { ...none, ...given, ...nodes(), REDLOCK_PASSWORD: "hunter2", QUORLOCK_TOKEN: "hunter2" },
      });
      expect(code).toBe(0);
      const passed: unknown = JSON.parse(output);
      expect(passed).toEqual({ ...given, QUORLOCK_RESOURCE: "job" });
    },
  );

  test("does not pass on the fencing token of another lock", async () => {
    const script = "echo $QUORLOCK_RESOURCE; env | grep FENCING";
    const addresses = masters.list.flatMap(({ url }) => ["--master", url]);
    const inner = [process.execPath, program, "exec", "inner", ...addresses, "--", "sh", "-c", script];
    const { output } = await exec("outer", "--fencing", "--", ...inner);
    expect(output).toBe("inner\n");
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
    [
      ["job", "--guard", "10s", "--", "true"],
      "ttl must not be above the maxTtl of restartGuard, but 30000 ms is above 10000 ms",
    ],
    [
      ["job", "--guard", "0s", "--", "true"],
      "restartGuard.maxTtl must be a whole number of milliseconds from 1 to 9007199254740991, but is 0",
    ],
    [["", "--", "true"], "a resource must be a non-empty string, but one is an empty string"],
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

  test("refuses a resource of the library with 64", async () => {
    const { code, output, errors } = await exec("quorlock:\u202ex", "--", "true");
    expect({ code, output }).toEqual({ code: 64, output: "" });
    expect(errors).toMatch(
      /^quorlock: .*must not begin with "quorlock:".* but one is "quorlock:\\u202ex"\n$/,
    );
  });

  test("a master that forbids the commands of the guard is bad usage, without the text of its error", async () => {
    const rule = ["on", "nopass", "~*", "&*", "+@all", "-object"];
    for (const admin of admins) await admin.call("ACL", "SETUSER", "hunter2", ...rule);
    const addresses = masters.list.flatMap(({ host, port }) => [
      "--master",
      `redis://hunter2:any@${host}:${port}`,
    ]);
    const { code, errors } = await exec("job", ...addresses, "--guard", "60s", "--", "true");
    expect(code).toBe(64);
    expect(errors).toMatch(
      /^quorlock: ps .*\nquorlock: restartGuard: .* which are needed to detect a loss of memory\n$/,
    );
    for (const admin of admins) await admin.call("ACL", "DELUSER", "hunter2");
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

  test("loses the lock: no process of the group outlives it", async () => {
    const held = join(folder, "lost");
    const script = `${stubborn(held)}; echo done`;
    await using child = Child.node(program, ["exec", "job", "--ttl", "2s", "--", "sh", "-c", script], {
      env: nodes(),
    });
    await child.printed(/worker/);
    await lockBy("another", "job");
    await once(child.process, "exit");
    const after = await new Child("flock", ["-n", held, "echo", "free"]).ended;
    expect(after).toMatchObject({ code: 0, output: "free\n" });
    expect(await child.ended).toMatchObject({ code: 143 });
  });

  // The first loses its lock, the second is killed: then a guardian looks for what is left.
  test.each(["loses the lock", "is killed"])(
    "%s: a process that has left its group does not outlive it",
    async (fate) => {
      const held = join(folder, `left-${fate.length}`);
      const script = `setsid sh -c '(exec 9>${held}; flock -n 9; echo ready; exec sleep 600) & exit 0' & exit 0`;
      await using child = Child.node(program, ["exec", "job", "--ttl", "2s", "--", "sh", "-c", script], {
        env: nodes(),
      });
      await child.printed(/ready/);
      if (fate === "is killed") child.process.kill("SIGKILL");
      else await lockBy("another", "job");
      const after = await new Child("flock", ["-w", "10", held, "echo", "free"]).ended;
      expect(after).toMatchObject({ code: 0, output: "free\n" });
      await child.ended;
    },
  );

  test("is stopped with another `quorlock exec` inside: the command of that stops as well, and goes on", async () => {
    const steps = join(folder, "inner-steps");
    const count = (): number => (existsSync(steps) ? readFileSync(steps, "utf8").length : 0);
    const addresses = masters.list.flatMap(({ url }) => ["--master", url]);
    const work = `for n in 1 2 3 4 5 6 7 8 9 0; do printf . >> ${steps}; sleep 0.1; done`;
    const inner = [process.execPath, program, "exec", "inner", ...addresses, "--", "sh", "-c", work];
    await using child = Child.node(program, ["exec", "outer", "--", ...inner], { env: nodes() });
    await vi.waitFor(() => expect(count()).toBeGreaterThan(1), 20_000);
    child.process.kill("SIGTSTP");
    await vi.waitFor(() => expect(stateOf(child.process.pid!)).toBe("T"), 20_000);
    const stoppedAt = count();
    // Another client takes and releases a lock meanwhile, which takes longer than some steps.
    await exec("other", "--", "sleep", "0.5");
    expect(count()).toBe(stoppedAt);
    child.process.kill("SIGCONT");
    expect((await child.ended).code).toBe(0);
    expect(count()).toBe(10);
  });

  test.each([
    [
      "in the background of a terminal that stops who writes there",
      "stty tostop; set -m; COMMAND & wait; read -r line",
      "",
    ],
    ["on a terminal that was stopped by Ctrl-S", "COMMAND", "\u0013"],
  ])("loses the lock %s: its command is ended", async (_, line, typed) => {
    const held = join(folder, `terminal-${typed.length}`);
    const addresses = masters.urls.map((url) => `--master ${url}`).join(" ");
    const job = `exec 9>${held}; flock -n 9; echo > ${held}.ready; exec sleep 600`;
    const exec = `${process.execPath} ${program} exec job --ttl 2s ${addresses} -- sh -c '${job}'`;
    writeFileSync(`${held}.sh`, line.replace("COMMAND", exec));
    await using terminal = new Child("script", ["-qec", `bash ${held}.sh`, "/dev/null"]);
    await vi.waitFor(() => expect(existsSync(`${held}.ready`)).toBe(true), 30_000);
    terminal.process.stdin!.write(typed);
    await lockBy("another", "job");
    const after = await new Child("flock", ["-w", "10", held, "echo", "free"]).ended;
    expect(after).toMatchObject({ code: 0, output: "free\n" });
  });

  test("holds the lock until all processes that SIGTERM was passed on to have ended", async () => {
    const { child, worker } = await leavesWorker(join(folder, "stays"));
    await using _ = child;
    process.kill(worker, "SIGKILL");
    expect((await child.ended).code).toBe(5);
    expect(await Promise.all(admins.map((admin) => admin.exists("job")))).toEqual([0, 0, 0]);
  });

  test("is killed while it waits for a process that ignores SIGTERM: that is killed with it", async () => {
    const held = join(folder, "killed-later");
    const { child } = await leavesWorker(held);
    child.process.kill("SIGKILL");
    const after = await new Child("flock", ["-w", "10", held, "echo", "free"]).ended;
    expect(after).toMatchObject({ code: 0, output: "free\n" });
  });

  test("does not wait for a process that has ended and that its parent forgets", async () => {
    // The parent leaves the group, and waits for no child.
    const parent = "(sleep 0 & exec setsid sh -c 'echo parent $$; exec sleep 30 >/dev/null 2>&1 4>&-')";
    const script = `trap "exit 5" TERM; ${parent} & wait`;
    await using child = Child.node(program, ["exec", "job", "--", "sh", "-c", script], { env: nodes() });
    await child.printed(/parent \d+\n/);
    child.process.kill("SIGTERM");
    expect((await child.ended).code).toBe(5);
    process.kill(Number(/parent (\d+)/.exec(child.output)![1]), "SIGKILL");
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

  test("is stopped: the command stops first, and is killed if its lock has ended meanwhile", async () => {
    const steps = join(folder, "steps");
    const script = `echo step > ${steps}; echo ready; while :; do echo step >> ${steps}; sleep 0.02; done`;
    const args = ["exec", "job", "--ttl", "1s", "--", "sh", "-c", script];
    await using child = Child.node(program, args, { env: nodes() });
    await child.printed(/ready/);
    child.process.kill("SIGTSTP");
    const next = await exec(
      "job",
      "--wait",
      "20s",
      "--",
      "sh",
      "-c",
      `wc -l < ${steps}; sleep 0.3; wc -l < ${steps}`,
    );
    const [before, after] = next.output.trim().split("\n");
    expect({ code: next.code, after }).toEqual({ code: 0, after: before });
    child.process.kill("SIGCONT");
    expect((await child.ended).code).toBe(137);
    expect(readFileSync(steps, "utf8").split("\n").length - 1).toBe(Number(before));
  });

  test("is stopped and goes on within the lease: so does the command", async () => {
    const script = 'trap "exit 5" USR1; echo ready; while :; do sleep 0.02; done';
    await using child = Child.node(program, ["exec", "job", "--", "sh", "-c", script], { env: nodes() });
    await child.printed(/ready/);
    child.process.kill("SIGTSTP");
    await vi.waitFor(() => expect(stateOf(child.process.pid!)).toBe("T"), 20_000);
    child.process.kill("SIGCONT");
    child.process.kill("SIGUSR1");
    expect((await child.ended).code).toBe(5);
  });

  test.each(["USR1", "USR2", "WINCH", "QUIT"] as const)(
    "passes on SIG%s, and does nothing itself",
    async (name) => {
      const script = `trap "echo got; exit 5" ${name}; echo ready; while :; do sleep 0.02; done`;
      await using child = Child.node(program, ["exec", "job", "--", "sh", "-c", script], { env: nodes() });
      await child.printed(/ready/);
      child.process.kill(`SIG${name}`);
      const { code, output, errors } = await child.ended;
      expect({ code, output }).toEqual({ code: 5, output: "ready\ngot\n" });
      // A shell has words of its own for a process that it has started.
      expect(errors).not.toContain("ebugger");
    },
  );

  test.each([
    ["a process of its group", "(sleep 1; echo worked) & exit 6"],
    ["a process that has left its group", "setsid sh -c 'sleep 1; echo worked' & exit 6"],
  ])("holds the lock until %s has ended", async (_, script) => {
    await using child = Child.node(program, ["exec", "job", "--", "sh", "-c", script], { env: nodes() });
    await vi.waitFor(async () => expect(await admins[0]!.exists("job")).toBe(1), {
      timeout: 20_000,
      interval: 5,
    });
    const next = await exec("job", "--wait", "20s", "--", "date", "+%s%N");
    expect(await child.ended).toMatchObject({ code: 6, output: "worked\n" });
    expect(next.code).toBe(0);
    expect(child.output).toBe("worked\n");
  });

  test("releases as its command ends, with --no-wait", async () => {
    const held = join(folder, "left");
    const script = `(exec 9>${held}; flock 9; echo locked; exec >/dev/null 2>&1; sleep 600) & sleep 1; echo $!`;
    const { code, output } = await exec("job", "--no-wait", "--wait", "5s", "--", "sh", "-c", script);
    expect(code).toBe(0);
    expect(await admins[0]!.exists("job")).toBe(0);
    process.kill(Number(output.split("\n")[1]), "SIGKILL");
  });

  test("keeps the lock after a short job: a late host does not run it again", async () => {
    // The default ttl is longer: the lease is not.
    const job = ["job", "--keep-for", "4s", "--", "sh", "-c", "sleep 0.5; echo ran"];
    expect(await exec(...job)).toMatchObject({ code: 0, output: "ran\n" });
    const late = await exec(...job);
    expect(late).toMatchObject({ code: 75, output: "" });
    expect(late.errors).toMatch(/^quorlock: "job" was run by .*, which keeps the lock for \d s more\n$/);
    await vi.waitFor(async () => expect((await exec(...job)).code).toBe(0), {
      timeout: 30_000,
      interval: 200,
    });
  });

  test("a command of a kept job that fails keeps the lock as well, and its code is told", async () => {
    expect((await exec("job", "--keep-for", "60s", "--", "sh", "-c", "exit 3")).code).toBe(3);
    expect((await exec("job", "--keep-for", "60s", "--", "true")).code).toBe(75);
  });
});

/** The state of a process, as /proc names it. */
function stateOf(pid: number): string | undefined {
  return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1];
}

/** In this process: fifty programs would take minutes to start. */
function run(
  addresses: readonly string[],
  name: string,
  script: string,
  said: string[],
  times = { ttl: 3000, grace: 500 },
): Promise<number> {
  return execute(mastersFrom(addresses, {}, {}), name, ["sh", "-c", script], {
    ...times,
    wait: 60_000,
    waits: true,
    environment: process.env,
    say: (line) => said.push(line),
  });
}

test("a command without time between the signals is killed half a second before its lock ends", async () => {
  const proxies: FaultProxy[] = await Promise.all(masters.list.map((master) => startProxy(master)));
  const held = join(folder, "no-grace");
  const script = `exec 9>${held}; flock -n 9; trap "" TERM; echo > ${held}.ready; sleep 600`;
  const urls = proxies.map(({ url }) => url);
  const said: string[] = [];
  const ended = run(urls, "no-grace", script, said, { ttl: 5000, grace: 0 });
  await vi.waitFor(() => expect(existsSync(`${held}.ready`)).toBe(true), 30_000);
  for (const proxy of proxies) proxy.dropRequests();
  await new Child("flock", [held, "true"]).ended;
  const left = await Promise.all(admins.map((admin) => admin.pttl("no-grace")));
  expect(Math.min(...left)).toBeGreaterThan(300);
  expect(await ended).toBe(137);
  expect(said).toEqual([expect.stringContaining("gets SIGTERM now, and SIGKILL before")]);
  for (const proxy of proxies) await proxy.stop();
});

test("50 commands whose masters are cut off have ended before the next client runs its own", {
  timeout: 120_000,
}, async () => {
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
