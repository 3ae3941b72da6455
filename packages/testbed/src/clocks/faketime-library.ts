import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { installPackage, usablePackageManager } from "../servers/packages.ts";

/** libfaketime, and the C library that has to be loaded right behind it. */
export interface FaketimeLibrary {
  readonly faketime: string;
  readonly libc: string;
}

/** Where Linux distributions keep libraries: below these, or in a folder for the architecture below these. */
const libraryFolders = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];

/** The library, installed first where this process is root on a machine with apt-get; or why there is none. */
export async function faketimeLibrary(
  say: (line: string) => void,
): Promise<FaketimeLibrary | { unavailable: string }> {
  const found = findLibrary();
  if (found) return found;
  const { REDLOCK_NO_INSTALL = "" } = process.env;
  if (REDLOCK_NO_INSTALL !== "" && REDLOCK_NO_INSTALL !== "0") {
    return {
      unavailable: `libfaketime is not here, and REDLOCK_NO_INSTALL=${REDLOCK_NO_INSTALL} forbids it`,
    };
  }
  const manager = usablePackageManager();
  if (manager !== "apt-get") {
    const reason = typeof manager === "string" ? `${manager} is not supported here` : manager.unusable;
    return { unavailable: `libfaketime is not here, and cannot be installed: ${reason}` };
  }
  say("testbed: installing libfaketime with apt-get (REDLOCK_NO_INSTALL=1 forbids it)");
  try {
    // The library has no program that would show whether it is installed; apt-get checks that.
    await installPackage(manager, "libfaketime", []);
  } catch (error) {
    return { unavailable: error instanceof Error ? error.message : String(error) };
  }
  return findLibrary() ?? { unavailable: "apt-get succeeded, but no libfaketime is to be found" };
}

function findLibrary(): FaketimeLibrary | undefined {
  for (const folder of libraryFolders.filter(existsSync)) {
    for (const architecture of ["", ...readdirSync(folder)]) {
      const faketime = join(folder, architecture, "faketime", "libfaketime.so.1");
      const libc = [join("/lib", architecture, "libc.so.6"), join(folder, architecture, "libc.so.6")];
      const here = libc.find(existsSync);
      if (existsSync(faketime) && here) return { faketime, libc: here };
    }
  }
  return undefined;
}
