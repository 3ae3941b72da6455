import type { Masters, Unavailable, WayOptions } from "../masters.ts";
import { foldersOnPath } from "./executables.ts";
import { findServerBinary, startBinary } from "./local-binary.ts";
import { installPackage, type PackageManager, usablePackageManager } from "./packages.ts";

/** Where packages put their programs; a stripped-down `PATH` need not have them. */
const packagedFolders = ["/usr/bin", "/usr/sbin", "/usr/local/bin"];

const packageNames: Record<PackageManager, string> = { "apt-get": "redis-server", apk: "redis" };

/**
 * Masters from a redis-server that is installed first, where this process is root on a machine with apt-get or
 * apk. `REDLOCK_NO_INSTALL=1` forbids it.
 */
export async function mastersFromInstallation(
  count: number,
  options: WayOptions,
): Promise<Masters | Unavailable> {
  const { REDLOCK_NO_INSTALL = "" } = process.env;
  if (REDLOCK_NO_INSTALL !== "" && REDLOCK_NO_INSTALL !== "0") {
    return { unavailable: `REDLOCK_NO_INSTALL=${REDLOCK_NO_INSTALL} forbids it` };
  }
  const manager = usablePackageManager();
  if (typeof manager !== "string") return { unavailable: manager.unusable };
  const began = performance.now();
  options.say(
    `testbed: no masters on this machine, installing ${packageNames[manager]} with ${manager} ` +
      "(REDLOCK_NO_INSTALL=1 forbids it)",
  );
  try {
    await installPackage(manager, packageNames[manager], ["redis-server", "valkey-server"]);
  } catch (error) {
    return { unavailable: error instanceof Error ? error.message : String(error) };
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const binary = findServerBinary([...foldersOnPath(), ...packagedFolders]);
  if (!binary) return { unavailable: `${manager} succeeded, but no redis-server is to be found` };
  options.say(`testbed: ${binary} installed in ${seconds} s; its own service was not started`);
  return startBinary(binary, count, options, "installed");
}
