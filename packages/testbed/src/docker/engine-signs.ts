import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { findExecutable } from "../servers/executables.ts";

/** Whether anything here hints at a Docker engine: where nothing does, none needs to be looked for, which takes seconds. */
export function hasSignOfEngine(): boolean {
  const { DOCKER_HOST, TESTCONTAINERS_HOST_OVERRIDE, XDG_RUNTIME_DIR } = process.env;
  if (process.platform === "win32" || DOCKER_HOST || TESTCONTAINERS_HOST_OVERRIDE) return true;
  const home = homedir();
  // Where testcontainers looks for the socket of an engine, or for its address.
  const places = [
    "/var/run/docker.sock",
    join("/run", "user", `${process.getuid?.()}`, "docker.sock"),
    ...(XDG_RUNTIME_DIR ? [join(XDG_RUNTIME_DIR, "docker.sock")] : []),
    ...["run", "desktop"].map((folder) => join(home, ".docker", folder, "docker.sock")),
    join(home, ".testcontainers.properties"),
  ];
  return places.some((place) => existsSync(place)) || findExecutable(["docker", "podman"]) !== undefined;
}
