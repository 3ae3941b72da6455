import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child, type Ending, runProgram } from "@quorlock/simulation/processes";
import { findExecutable, PortTakenError, startMasters, startProxy, withFreePort } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { program } from "./built.ts";
import type { Report } from "./doctor/doctor.ts";
import { type GoodMasters, startGoodMasters } from "./doctor/good-masters.ts";
import { remedies } from "./doctor/remedies.ts";

// The program as its users call it, in its own process.

const folder = mkdtempSync(join(tmpdir(), "quorlock-cli-"));
const secret = "hunter2-%40-long";
const tokenFile = join(folder, "token");
writeFileSync(tokenFile, "hunter2-and-more-characters\n");
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};

let good: GoodMasters;
beforeAll(async () => {
  good = await startGoodMasters();
  for (const admin of good.admins) await admin.config("SET", "requirepass", decodeURIComponent(secret));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await good[Symbol.asyncDispose]();
});

function withSecret(password = secret): readonly string[] {
  return good.addresses.map((address) => address.replace("//", `//:${password}@`));
}

/** Runs it; no output has the password, in whatever form. */
async function quorlock(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ending> {
  const clean = {
    REDLOCK_NODES: undefined,
    QUORLOCK_TOKEN: undefined,
    REDLOCK_PASSWORD: undefined,
    NO_COLOR: undefined,
    ...env,
  };
  const ending = await runProgram(program, args, { env: clean });
  expect(ending.output + ending.errors).not.toMatch(/hunter2/);
  return ending;
}

/** Nothing was found. Masters that answer slowly, beside other work, are a finding too: those alone may be there. */
function expectGood({ code, output, errors }: Ending): void {
  const found = [...output.matchAll(/^ {2}[!✗?] ([\w-]+):/gm)].map(([, id]) => id!);
  expect(found.filter((id) => id !== "round-trip" && id !== "cold-connection")).toEqual([]);
  expect({ code, errors }).toEqual({ code: found.length === 0 ? 0 : 1, errors: "" });
  expect(output).toContain(`\n${108 - found.length} pass, ${found.length} warn, 0 fail, 0 unknown\n`);
}

describe("exit code", () => {
  test("0: every check passed", async () => {
    const ending = await quorlock(["doctor"], { REDLOCK_NODES: withSecret().join() });
    expectGood(ending);
    expect(ending.output).toContain("quorlock doctor: 5 masters");
    expect(ending.output).toContain("Settings for these masters: nodeTimeout ");
  });

  test("1: a finding, with its remedy and its page", async () => {
    const { code, output } = await quorlock(["doctor", ...withSecret().slice(1)]);
    expect(code).toBe(1);
    const page = `https://www.npmjs.com/package/quorlock/v/${version}#independenteven`;
    expect(output).toContain("  ! even: 4 masters survive the failure of 1, as 3 do\n");
    expect(output).toContain(`      add a master, or remove one\n      ${page}\n`);
  });

  test("2: something is not known, and nothing was found", async () => {
    for (const admin of good.admins)
      await admin.call("ACL", "SETUSER", "locks", "on", ">hunter2-b", "~*", "&*", "+@all", "-client");
    const addresses = good.addresses.map((address) => address.replace("//", "//locks:hunter2-b@"));
    const { code, output } = await quorlock(["doctor", ...addresses]);
    expect(code).toBe(2);
    expect(output).toContain("? same-host");
  });

  test.each([
    [[], "a command is missing: try quorlock doctor, or quorlock --help"],
    [["docter"], "unknown command 'docter': did you mean doctor?"],
    [
      ["doctor"],
      "no masters: pass their addresses (redis://host:port, rediss://host:port, unix:///path or host:port), --nodes-file or REDLOCK_NODES",
    ],
    [["doctor", "--jsn"], "unknown option '--jsn': did you mean --json?"],
    [
      ["doctor", "--timeout", "0"],
      "option '--timeout <ms>' argument '...' is invalid. Expected a whole number, 1 to 9999999.",
    ],
    [["doctor", "--password=hunter2"], "unknown option '--password'"],
    [
      ["inspect", "", "--master", "a"],
      "command-argument value '...' is invalid for argument 'resource'. Expected a non-empty name.",
    ],
    [
      ["watch", "--master", "a", "--interval", "0s"],
      "option '--interval <time>' argument '...' is invalid. Expected 100ms or more.",
    ],
    [["doctor", "-ahunter2"], "unknown option '-a'"],
    [["redis://:hunter2@a"], "unknown command '...'"],
    [
      ["doctor", "redis://:hunter2@"],
      "address 1 of the arguments is none of redis://host:port, rediss://host:port, unix:///path or host:port",
    ],
    [["doctor", "a", "--cacert", "/none"], "--cacert: the file cannot be read (ENOENT)"],
    [
      ["serve", "--master", "a", "--host", "0.0.0.0"],
      "--host is not a loopback address: it needs a token, QUORLOCK_TOKEN or --token-file",
    ],
    [
      ["serve", "--master", "a", "--token-file", "/dev/null"],
      "the token must have 16 characters or more, of ASCII and without spaces",
    ],
    [
      ["serve", "--master", "a", "--host", "192.0.2.1", "--token-file", tokenFile],
      "--host and --port: it cannot listen there (EADDRNOTAVAIL)",
    ],
    [["serve", "--master", "a", "--token", "hunter2"], "unknown option '--token'"],
  ])("64: %j is answered in one line", async (args, message) => {
    const { code, output, errors } = await quorlock(args);
    expect({ code, output, errors }).toEqual({ code: 64, output: "", errors: `quorlock: ${message}\n` });
  });

  test("70: a defect is named by its place alone", async () => {
    const defect = "data:text/javascript,console.log=()=>{throw new TypeError(process.env.REDLOCK_PASSWORD)}";
    const env = { NODE_OPTIONS: `--import=${encodeURI(defect)}`, REDLOCK_PASSWORD: "hunter2" };
    const { code, output, errors } = await quorlock(["doctor", "127.0.0.1:1"], env);
    expect({ code, output }).toEqual({ code: 70, output: "" });
    expect(errors).toMatch(/^quorlock: failed: TypeError at .+\n$/);
  });

  test("130: Ctrl-C ends it while a master hangs", async () => {
    const proxy = await startProxy({ host: "127.0.0.1", port: Number(new URL(good.addresses[0]!).port) });
    proxy.hold("replies");
    const child = Child.node(program, ["doctor", proxy.url, "--timeout", "600000"]);
    await proxy.nextRequest();
    child.process.kill("SIGINT");
    const { code, output, errors } = await child.ended;
    expect({ code, output, errors }).toEqual({ code: 130, output: "", errors: "" });
    await proxy.stop();
  });
});

interface Given {
  readonly addresses?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

describe("a password", () => {
  test.each([
    ["in the addresses", () => ({ addresses: withSecret("wrong-hunter2") })],
    ["in REDLOCK_NODES", () => ({ env: { REDLOCK_NODES: withSecret("wrong-hunter2").join() } })],
    [
      "in REDLOCK_PASSWORD",
      () => ({ addresses: good.addresses, env: { REDLOCK_PASSWORD: "wrong-hunter2" } }),
    ],
  ] as readonly (readonly [string, () => Given])[])("that is wrong is not printed: %s", async (_, given) => {
    const { addresses = [], env = {} } = given();
    for (const json of [[], ["--json"]]) {
      const { code, output } = await quorlock(["doctor", ...addresses, ...json], env);
      expect(code).toBe(1);
      expect(output).toContain("refuses the user or the password (WRONGPASS)");
    }
  });

  test("comes from a file, with the addresses", async () => {
    const [nodes, password] = [join(folder, "nodes"), join(folder, "password")];
    writeFileSync(nodes, good.addresses.join("\n"));
    writeFileSync(password, `${decodeURIComponent(secret)}\n`);
    const args = ["doctor", "--nodes-file", nodes, "--user", "default", "--password-file", password];
    expect((await quorlock(args)).code).toBe(0);
  });
});

/** A command line of the program for these masters, which asks for the password. */
function askingLine(words: string): string {
  const addresses = good.addresses.map((address) => `--master ${address}`).join(" ");
  return `${process.execPath} ${program} ${words} ${addresses} --askpass`;
}

describe("a password that is typed (--askpass)", () => {
  test("is not shown, and leaves the standard input to the command", async () => {
    const words = askingLine("exec r");
    const script = `stty -a | grep -c ' echo '; printf 'of a pipe' | ${words} -- cat; stty -a | grep -c ' echo '`;
    await using child = new Child("script", ["-qec", script, "/dev/null"]);
    await child.printed(/Password: /);
    child.process.stdin!.write(`${decodeURIComponent(secret)}\n`);
    const { code, output } = await child.ended;
    expect(output.replaceAll("\r", "")).toBe("1\nPassword: \nof a pipe1\n");
    expect(code).toBe(0);
  });

  test("is asked for once, whatever the number of masters, and is not used if Ctrl-C ends it", async () => {
    const script = `trap : INT; ${askingLine("ls")}; echo ended $?; stty -a | grep -c ' echo '`;
    await using child = new Child("script", ["-qec", script, "/dev/null"]);
    await child.printed(/Password: /);
    child.process.stdin!.write("\u0003");
    await child.printed(/\n1\r\n/);
    expect(child.output.match(/Password/g)).toHaveLength(1);
    expect(child.output).toMatch(/ended (64|130)/);
  });

  test("needs a terminal", async () => {
    const args = [process.execPath, program, "ls", "--master", "a", "--askpass"];
    const { code, errors } = await new Child("setsid", ["-w", ...args]).ended;
    expect({ code, errors }).toEqual({
      code: 64,
      errors: "quorlock: --askpass: it needs a terminal to ask on, and an answer\n",
    });
  });
});

test("warns once about passwords in the arguments, and not about others", async () => {
  const warning =
    "quorlock: ps shows every user a password in an argument; REDLOCK_PASSWORD, --password-file and --askpass do not\n";
  const masters = withSecret().flatMap((address) => ["--master", address]);
  expect((await quorlock(["ls", ...masters])).errors).toBe(warning);
  expect((await quorlock(["doctor", ...withSecret()])).errors).toBe(warning);
  expect((await quorlock(["ls"], { REDLOCK_NODES: withSecret().join() })).errors).toBe("");
});

/** Whether masters answer in time is a matter of the machine. */
const isTimed = (id: string): boolean => id === "usable.round-trip" || id === "usable.cold-connection";

test("--json has the stable ids, each with its fields", async () => {
  const { output } = await quorlock(["doctor", ...withSecret().slice(1), "--json"]);
  const report = JSON.parse(output) as Report;
  expect(Object.keys(report)).toEqual(["schemaVersion", "ok", "summary", "checks"]);
  expect(report).toMatchObject({ schemaVersion: 1, ok: false, summary: { fail: 0, unknown: 0 } });
  expect(report.checks).toHaveLength(87);
  expect([...new Set(report.checks.map(({ id }) => id))].sort()).toEqual(Object.keys(remedies).sort());
  const url = `https://www.npmjs.com/package/quorlock/v/${version}#independenteven`;
  expect(report.checks.filter(({ id, status }) => status === "warn" && !isTimed(id))).toEqual([
    {
      id: "independent.even",
      status: "warn",
      master: null,
      message: "4 masters survive the failure of 1, as 3 do",
      remedy: remedies["independent.even"],
      url,
      observed: { masters: 4 },
    },
  ]);
});

test("--help has examples and exit codes, and --version the version of the package", async () => {
  const help = await quorlock(["doctor", "--help"]);
  expect(help).toMatchObject({ code: 0, errors: "" });
  expect(help.output).toMatch(
    /Usage: quorlock doctor .*--nodes-file .*Exit: 0 ok, .*Examples:\n {2}npx quorlock/s,
  );
  const all = await quorlock(["--help"]);
  expect(all).toMatchObject({ code: 0, errors: "" });
  expect(all.output).toMatch(/doctor .*Exit: 0 ok, .*Example:\n {2}npx quorlock/s);
  expect(await quorlock(["--version"])).toMatchObject({ code: 0, output: `${version}\n`, errors: "" });
});

/** Its output on a terminal. */
function onTerminal(env: Readonly<Record<string, string>>): string {
  const line = [process.execPath, program, "doctor", "127.0.0.1:1"].join(" ");
  return execFileSync("script", ["-qc", `${line} || true`, "/dev/null"], {
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "", TERM: "xterm", ...env },
  });
}

test("colours are for a terminal, and NO_COLOR turns them off", () => {
  expect(onTerminal({})).toContain("\u001b[31m✗\u001b[39m reachable");
  expect(onTerminal({ NO_COLOR: "1" })).not.toContain("\u001b[");
});

test("TLS is used with the certificates that are given", async () => {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const request =
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost";
  const names = [
    "-addext",
    "subjectAltName=IP:127.0.0.1,IP:127.0.0.2,IP:127.0.0.3,IP:127.0.0.4,IP:127.0.0.5",
  ];
  execFileSync("openssl", [...request.split(" "), ...names, "-keyout", key, "-out", certificate], {
    stdio: "pipe",
  });
  const files = ["--tls-key-file", key, "--tls-cert-file", certificate, "--tls-ca-cert-file", certificate];
  const masters = await startGoodMasters(files);
  for (const admin of masters.admins) {
    await admin.config("SET", "tls-auth-clients", "no", "tls-port", String(admin.options.port! + 10_000));
  }
  const addresses = masters.addresses.map((address) => {
    const { hostname, port } = new URL(address);
    return `rediss://${hostname}:${Number(port) + 10_000}`;
  });
  // Handshakes with five masters take their time on a busy machine.
  const doctor = ["doctor", "--timeout", "30000"];
  expectGood(await quorlock([...doctor, ...addresses, "--cacert", certificate]));
  const places = addresses.map((address) => address.slice("rediss://".length));
  expectGood(await quorlock([...doctor, ...places, "--tls", "--insecure"]));
  const untrusted = await quorlock(["doctor", ...addresses]);
  expect(untrusted.code).toBe(1);
  expect(untrusted.output).toContain("reachable: 127.0.0.1");
  expect(untrusted.output).toContain("is not reachable (DEPTH_ZERO_SELF_SIGNED_CERT)");
  await masters[Symbol.asyncDispose]();
});

function openssl(...words: readonly string[]): void {
  execFileSync("openssl", words, { stdio: "pipe" });
}

/** A certificate of this name, with its key, that has ended if `days` is below zero. */
function certificateFor(name: string, days: number): { readonly key: string; readonly certificate: string } {
  const file = (ending: string): string => join(folder, `${name.replace(":", "-")}${days}.${ending}`);
  writeFileSync(file("ext"), `subjectAltName=${name}`);
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-new", ...curve, "-subj", "/CN=localhost", "-keyout", file("key"), "-out", file("csr"));
  const signed = ["-signkey", file("key"), "-days", String(days), "-extfile", file("ext")];
  openssl("x509", "-req", "-in", file("csr"), ...signed, "-out", file("pem"));
  return { key: file("key"), certificate: file("pem") };
}

describe("exec tells in the words of inspect why a connection with TLS fails:", () => {
  test.each([
    ["a certificate that nobody trusts", "IP:127.0.0.1", 2, false, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["another name", "DNS:elsewhere", 2, true, "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["a certificate that has ended", "IP:127.0.0.1", -1, true, "CERT_HAS_EXPIRED"],
  ] as const)("%s", async (_, name, days, isTrusted, reason) => {
    const { key, certificate } = certificateFor(name, days);
    const config = ["--tls-key-file", key, "--tls-cert-file", certificate, "--tls-ca-cert-file", certificate];
    await using masters = await startMasters(3, { source: "local-binary", config, say: () => {} });
    const addresses: string[] = [];
    for (const { url, host, port } of masters.list) {
      const admin = new Redis(url);
      await admin.config("SET", "tls-auth-clients", "no", "tls-port", String(port + 10_000));
      admin.disconnect();
      addresses.push("--master", `rediss://${host}:${port + 10_000}`);
    }
    if (isTrusted) addresses.push("--cacert", certificate);
    expect(await reasonsOf(addresses)).toEqual([reason, reason, reason]);
  });

  test("a port without TLS", async () => {
    await using masters = await startMasters(1, { source: "local-binary", say: () => {} });
    const [master] = masters.list;
    const address = `rediss://${master!.host}:${master!.port}`;
    expect(await reasonsOf(["--master", address, "--timeout", "1000"])).toEqual(["TIMEOUT"]);
  });
});

/** Told by `inspect`, and by `exec` as well. */
async function reasonsOf(args: readonly string[]): Promise<readonly string[]> {
  const inspected = await quorlock(["inspect", "r", ...args, "--json"]);
  const { others } = JSON.parse(inspected.output) as {
    readonly others: ReadonlyArray<{ readonly master: string; readonly says: string }>;
  };
  const ofExec = args.slice(0, args.includes("--timeout") ? -2 : undefined);
  const { code, errors } = await quorlock(["exec", "r", "--wait", "0s", ...ofExec, "--", "true"]);
  const told = others.map(({ master, says }) => `${master}: ${says}`).join("; ");
  expect({ code, errors }).toEqual({ code: 69, errors: `quorlock: no quorum: ${told}\n` });
  return others.map(({ says }) => says);
}

/** A Sentinel of a master, which nobody has to run. */
async function startSentinel(port: number): Promise<Child> {
  const file = join(folder, "sentinel.conf");
  writeFileSync(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\nsentinel monitor m 127.0.0.1 1 1\n`);
  const sentinel = new Child(findExecutable(["redis-server", "valkey-server"])!, [file, "--sentinel"]);
  try {
    await sentinel.printed(/Sentinel ID is/);
  } catch (error) {
    throw new PortTakenError(String(error));
  }
  return sentinel;
}

test("a Sentinel is named as one by every command, in each of its databases", async () => {
  let place = "";
  await using _ = await withFreePort((port) => {
    place = `127.0.0.1:${port}`;
    return startSentinel(port);
  });
  const told = "SENTINEL: name the master that it watches";
  for (const address of [`redis://${place}`, `redis://${place}/3`]) {
    const master = ["--master", address];
    for (const command of [["inspect", "r"], ["ls"], ["release", "r"], ["inspect", "r", "--semaphore", "2"]])
      expect((await quorlock([...command, ...master])).output).toContain(told);
    expect(await reasonsOf(master)).toEqual([told]);
    const doctor = await quorlock(["doctor", address]);
    expect(doctor.output).toContain(`${place}: is a Sentinel (SENTINEL)\n      name the master that it`);
    expect(doctor.output).not.toContain("version");
    await using watching = Child.node(program, ["watch", "r", ...master]);
    await watching.until(
      "the master",
      () => watching.output.includes(`${place} (${told})`) || undefined,
      20_000,
    );
    await using page = Child.node(program, ["serve", "--port", "0", ...master]);
    const state: unknown = await (await fetch(`${await page.line(0)}api/state`)).json();
    expect(state).toMatchObject({ masters: [{ reachable: false, error: told }] });
  }
});
