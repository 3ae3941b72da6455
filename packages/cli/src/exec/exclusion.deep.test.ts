import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { Random } from "@quorlock/simulation";
import { Child } from "@quorlock/simulation/processes";
import { type Proxy as FaultProxy, type Masters, startMasters, startProxy } from "@quorlock/testbed";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { program } from "../built.ts";
import { mastersFrom } from "../masters.ts";
import { execute } from "./exec.ts";

// Random runs of one `quorlock exec` that is stopped, continued, cut off, signalled and killed, beside a rival that takes the lock
// whenever it can. Both commands append their steps to one file, with their fencing tokens: the system puts the lines in an order.

const seed = Number(process.env["QUORLOCK_SEED"] ?? Date.now() % 1_000_000);
const runs = 50;
const atOnce = 10;
const ttl = 3000;

const folder = mkdtempSync(join(tmpdir(), "quorlock-exclusion-"));
let masters: Masters;

beforeAll(async () => {
  // Each rival listens for the signals of this process.
  process.setMaxListeners(0);
  masters = await startMasters(3, { source: "local-binary", say: () => {} });
});
afterAll(async () => {
  await masters.stop();
  rmSync(folder, { recursive: true });
});

/** Six seconds of steps: longer than the lock outlives its holder. Only SIGKILL ends what ignores the other signals. */
const work = `n=0; while [ $n -lt 120 ]; do echo "$QUORLOCK_FENCING_TOKEN first" >> "$STEPS"; n=$((n+1)); sleep 0.05; done`;
const commands = {
  "does its steps": work,
  "ignores signals": `trap "" HUP INT QUIT TERM; ${work}`,
  "leaves a process": `(${work}) & exit 0`,
  "leaves a session": `export WORK='${work}'; setsid sh -c 'eval "$WORK"' & exit 0`,
  "daemonises twice": `export WORK='${work}'; setsid sh -c '(trap "" HUP TERM; eval "$WORK") & exit 0' & exit 0`,
} as const;

interface Run {
  readonly exec: Child;
  readonly proxies: readonly FaultProxy[];
  readonly random: () => number;
}

async function cut({ proxies, random }: Run): Promise<void> {
  const count = 1 + Math.floor(random() * 3);
  for (const proxy of proxies.slice(0, count)) {
    proxy.dropRequests();
    proxy.dropReplies();
  }
  await pass(random() * 1.5 * ttl);
  for (const proxy of proxies.slice(0, count)) await proxy.heal();
}

/** A command that is continued before it has stopped would stop for ever. */
async function hasStopped({ process: { pid } }: Child): Promise<void> {
  await vi.waitFor(() => expect(stateOf(pid!)).toMatch(/[TZ]/), { timeout: 60_000, interval: 10 });
}

/** As /proc names it; Z once it has gone. */
function stateOf(pid: number): string {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))![1]!;
  } catch {
    return "Z";
  }
}

async function stopped({ exec, random }: Run, signal: NodeJS.Signals): Promise<void> {
  exec.process.kill(signal);
  await hasStopped(exec);
  await pass(random() * 1.5 * ttl);
  exec.process.kill("SIGCONT");
}

async function signalled({ exec, random }: Run): Promise<void> {
  const signals = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGCONT"] as const;
  exec.process.kill(signals[Math.floor(random() * signals.length)]);
}

const events: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  "is stopped": (run) => stopped(run, "SIGTSTP"),
  "is cut off": cut,
  "is stopped while it is cut off": async (run) =>
    void (await Promise.all([cut(run), stopped(run, "SIGTSTP")])),
  "gets a signal": signalled,
  "is killed": async ({ exec }) => void exec.process.kill("SIGKILL"),
  "is killed while it is stopped": async (run) => {
    run.exec.process.kill("SIGTSTP");
    await hasStopped(run.exec);
    await pass(run.random() * ttl);
    run.exec.process.kill("SIGKILL");
  },
  // Nobody is left who could stop its command.
  "is stopped alone": (run) => stopped(run, "SIGSTOP"),
};
const excepted = "is stopped alone";

/** Its name, and the tokens of the steps of the first that came after one of the rival. */
async function play(index: number): Promise<readonly [name: string, beside: readonly number[]]> {
  const stream = new Random(seed, index);
  const random = (): number => stream.fraction();
  const pick = <T extends object>(from: T): keyof T & string =>
    Object.keys(from)[Math.floor(random() * Object.keys(from).length)] as keyof T & string;
  const kind = pick(commands);
  const happens = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(events));
  const name = `${index}: it ${kind}, and ${happens.join(", ")}`;
  const [steps, over] = [join(folder, `${index}.steps`), join(folder, `${index}.over`)];
  const linesOf = (who: string): readonly string[] =>
    (existsSync(steps) ? readFileSync(steps, "utf8") : "").split("\n").filter((line) => line.endsWith(who));
  const came = (who: string, count: number): Promise<void> =>
    vi.waitFor(() => expect(linesOf(who).length, name).toBeGreaterThanOrEqual(count), { timeout: 60_000 });

  const proxies = await Promise.all(masters.list.map((master) => startProxy(master)));
  const [resource, limits] = [`run-${index}`, ["--ttl", `${ttl}ms`, "--grace", "500ms", "--fencing"]];
  await using exec = Child.node(program, ["exec", resource, ...limits, "--", "sh", "-c", commands[kind]], {
    stdio: "ignore",
    env: { REDLOCK_NODES: proxies.map(({ url }) => url).join(), STEPS: steps },
  });
  await came("first", 2);
  const script = `while [ ! -e "${over}" ]; do echo "$QUORLOCK_FENCING_TOKEN rival" >> "${steps}"; sleep 0.02; done`;
  const rival = runRival(resource, script, over);
  for (const event of happens) {
    await pass(random() * 500);
    await events[event]!({ exec, proxies, random });
  }
  await exec.ended;
  // Leftovers of the first would be seen beside these.
  await came("rival", linesOf("rival").length + 10);
  writeFileSync(over, "");
  await rival;
  for (const proxy of proxies) await proxy.stop();
  const tokens = readFileSync(steps, "utf8").trimEnd().split("\n").map(Number.parseFloat);
  const beside = tokens.filter((token, place) => token < Math.max(...tokens.slice(0, place)));
  return [name, happens.includes(excepted) ? [] : beside];
}

/** In this process, since nothing happens to it. It begins again if it loses the lock, on a busy machine. */
async function runRival(resource: string, script: string, over: string): Promise<void> {
  const options = {
    ttl,
    wait: 60_000,
    grace: 500,
    fencing: true,
    waits: true,
    environment: process.env,
    say: () => {},
  };
  while (!existsSync(over))
    await execute(mastersFrom(masters.urls, {}, {}), resource, ["sh", "-c", script], options);
}

test(`no step of a command beside another holder in ${runs} runs, seed ${seed}`, {
  timeout: 400_000,
}, async () => {
  console.log(`QUORLOCK_SEED=${seed}`);
  const left = Array.from({ length: runs }, (_, index) => index);
  const playNext = async (): Promise<void> => {
    for (let index = left.shift(); index !== undefined; index = left.shift()) {
      const [name, beside] = await play(index);
      expect(beside, name).toEqual([]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, playNext));
});
