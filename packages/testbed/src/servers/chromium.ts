import { findExecutable } from "./executables.ts";
import { installPackage, usablePackageManager } from "./packages.ts";

const programs = ["chromium", "chromium-browser", "google-chrome"];

/** A Chromium of this machine, or one that is installed first where this process may; else why there is none. */
export async function findChromium(): Promise<string | { readonly missing: string }> {
  const found = findExecutable(programs);
  if (found !== undefined) return found;
  const { REDLOCK_NO_INSTALL = "" } = process.env;
  if (REDLOCK_NO_INSTALL !== "" && REDLOCK_NO_INSTALL !== "0")
    return { missing: "REDLOCK_NO_INSTALL forbids to install it" };
  const manager = usablePackageManager();
  if (typeof manager !== "string") return { missing: manager.unusable };
  console.log(`no Chromium on this machine, installing it with ${manager} (REDLOCK_NO_INSTALL=1 forbids it)`);
  try {
    await installPackage(manager, "chromium", programs);
  } catch (error) {
    return { missing: String(error) };
  }
  return findExecutable(programs) ?? { missing: `${manager} succeeded, but there is no Chromium` };
}
