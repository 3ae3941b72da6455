import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findExecutable } from "./executables.ts";

export type PackageManager = "apt-get" | "apk";

const timeoutMilliseconds = 300_000;

/** The package manager that this process may use: apt-get or apk, and only as root. */
export function usablePackageManager(): PackageManager | { unusable: string } {
  const manager = (["apt-get", "apk"] as const).find((name) => findExecutable([name]));
  if (!manager) return { unusable: "neither apt-get nor apk is on the PATH" };
  if (process.getuid?.() !== 0) return { unusable: `${manager} is there, but this process is not root` };
  return manager;
}

// invoke-rc.d asks policy-rc.d before it starts a packaged service, and 101 means no: without this, an
// installation would leave a server running, and on the port that people use.
const aptScript = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > "$policy"
  chmod 755 "$policy"
fi
apt-get -o DPkg::Lock::Timeout=120 update || echo 'apt-get update failed, using the lists there are'
apt-get -o DPkg::Lock::Timeout=120 install --yes --no-install-recommends $package
`;

const installScripts: Record<PackageManager, string> = {
  "apt-get": aptScript,
  apk: "apk add --no-cache $package",
};

// Run with the lock held, so the second of two processes that want the same finds it there.
const unlessThereScript = `
for program in $programs; do
  if command -v "$program"; then exit 0; fi
done
`;

/**
 * Installs `packageName` unless one of `programs` is there already. Two processes (the workers of a test
 * runner) that want it at once install it once. Throws with the last lines of output; takes 300 s at most.
 */
export async function installPackage(
  manager: PackageManager,
  packageName: string,
  programs: readonly string[],
): Promise<void> {
  const script = `${unlessThereScript}${installScripts[manager]}`;
  // The kernel frees a flock when its holder dies, so no lock is ever left over.
  const lock = join(tmpdir(), "quorlock-testbed-install.lock");
  const locked = findExecutable(["flock"]) ? ["flock", lock, "sh", "-c", script] : ["sh", "-c", script];
  const environment = {
    ...process.env,
    DEBIAN_FRONTEND: "noninteractive",
    package: packageName,
    programs: programs.join(" "),
  };
  const { code, output } = await run(locked, environment);
  if (code === 0) return;
  throw new Error(`${manager} could not install ${packageName} (${code}): ${output.trim().slice(-500)}`);
}

function run(
  command: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<{ code: number | string; output: string }> {
  return new Promise((resolve, reject) => {
    const [program = "", ...programArguments] = command;
    const child = spawn(program, programArguments, {
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let output = "";
    const collect = (bytes: Buffer): void => {
      output = `${output}${bytes.toString()}`.slice(-4000);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    const timer = setTimeout(() => {
      // The group, since the shell is not what takes its time.
      if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    }, timeoutMilliseconds);
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code: code ?? signal ?? "unknown", output });
    });
  });
}
