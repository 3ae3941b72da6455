import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Script } from "@quorlock/redlock/internal";
import * as client from "@quorlock/redlock/internal";
import { flags } from "../master/command.ts";
import { scriptsOf } from "../peers/redlock-5-module.ts";
import { redlock5Package } from "../peers/redlock-5-package.ts";
import { compiled } from "./compile.ts";
import { scope } from "./library.ts";

const require = createRequire(import.meta.url);

/** The files of compiled scripts, by their paths, as they have to be. */
export async function compiledModules(): Promise<ReadonlyMap<string, string>> {
  const ofClient = Object.values(client).filter((value) => typeof value === "object" && "sha1" in value);
  return new Map([
    [pathOf("./client.generated.ts"), moduleWith(ofClient, "./library.ts")],
    [
      pathOf("../peers/redlock-5.generated.ts"),
      moduleWith([...scriptsOf(await redlock5Package()).values()], "../lua/library.ts"),
    ],
    [pathOf("../master/commands.generated.ts"), commandsModule()],
  ]);
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}

function moduleWith(scripts: readonly Script[], library: string): string {
  // By length: scripts that share much stand near each other, and a packer sees no further than 32 kB.
  const inOrder = scripts.toSorted((one, other) => one.source.length - other.source.length);
  const entries = inOrder.map(({ source, sha1 }) => `  "${sha1}": ${compiled(source)},\n`);
  return `// @ts-nocheck
// Scripts as JavaScript, by their digests. Written by \`pnpm scripts\`.
import { scope } from "${library}";
import type { CompiledScript } from "../master/redis-library.ts";

const { ${Object.keys(scope).join(", ")} } = scope;

export const compiledScripts: Readonly<Record<string, CompiledScript>> = {
${entries.join("")}};
`;
}

function commandsModule(): string {
  return `// @ts-nocheck
// Redis's table of commands, of @ioredis/commands. Written by \`pnpm scripts\`.
import type { RedisCommand } from "./command.ts";

export const commands: Readonly<Record<string, RedisCommand>> = ${JSON.stringify(require("@ioredis/commands/built/commands.json"), withoutUnread)};
`;
}

/** What nobody reads of a command is left out: each bundle of the package has the table. */
function withoutUnread(key: string, value: unknown): unknown {
  if (key === "flags") return flags.filter((flag) => (value as readonly string[]).includes(flag));
  return ["step", "requestPolicy", "responsePolicy"].includes(key) ? undefined : value;
}
