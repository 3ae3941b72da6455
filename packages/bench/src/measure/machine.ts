import { existsSync, readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Masters } from "@quorlock/testbed";
import { closeClients, openClients } from "../contenders/contender.ts";
import { builtEntry } from "../contenders/ours.ts";
import { peerPackages } from "../contenders/peers.ts";

/** The machine, the server and the versions that the numbers belong to. */
export async function machineLines(masters: Masters): Promise<readonly string[]> {
  const processors = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const load = loadavg()
    .map((value) => value.toFixed(2))
    .join(" ");
  const packages = [["ioredis", import.meta.resolve("ioredis")] as const, ...(await peerPackages())];
  const versions = packages.map(([name, entry]) => `${name} ${versionOf(entry, name)}`);
  return [
    `${processors.length} x ${processors[0]?.model.trim() ?? "unknown CPU"}, ${memory} GiB, ` +
      `${process.platform} ${release()}, load ${load}`,
    `node ${process.version}, ${await serverVersion(masters)} (${masters.source}), ` +
      `@quorlock/redlock ${versionOf(builtEntry, "@quorlock/redlock")}, ${versions.join(", ")}`,
  ];
}

/** Reads the package.json above the module from disk, since not every package exports it. */
function versionOf(module: string, name: string): string {
  let folder = dirname(fileURLToPath(module));
  while (folder !== dirname(folder)) {
    const file = join(folder, "package.json");
    if (existsSync(file)) {
      const manifest = JSON.parse(readFileSync(file, "utf8")) as { name?: string; version?: string };
      if (manifest.name === name) return manifest.version ?? "unknown";
    }
    folder = dirname(folder);
  }
  return "unknown";
}

async function serverVersion(masters: Masters): Promise<string> {
  const clients = await openClients(masters.urls.slice(0, 1));
  try {
    const info = await clients[0]!.info("server");
    const valkey = /valkey_version:(\S+)/.exec(info)?.[1];
    return valkey ? `valkey ${valkey}` : `redis ${/redis_version:(\S+)/.exec(info)?.[1] ?? "unknown"}`;
  } finally {
    closeClients(clients);
  }
}
