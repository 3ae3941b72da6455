import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPackage, usablePackageManager } from "@quorlock/testbed";
import { Pool } from "pg";

// A real PostgreSQL: that of DATABASE_URL, or one that is started in a temporary folder. (Debian's package of the server is
// installed if there is none and this process may.)

export interface Database extends AsyncDisposable {
  readonly pool: Pool;
}

export async function openDatabase(say: (line: string) => void): Promise<Database> {
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL) {
    const pool = new Pool({ connectionString: DATABASE_URL });
    return { pool, [Symbol.asyncDispose]: () => pool.end() };
  }
  return startDatabase(await binaries(say), say);
}

const packaged = "/usr/lib/postgresql";

function installed(): string | undefined {
  const versions = existsSync(packaged) ? readdirSync(packaged).sort((a, b) => Number(b) - Number(a)) : [];
  return versions
    .map((version) => join(packaged, version, "bin"))
    .find((bin) => existsSync(join(bin, "initdb")));
}

/** The folder of the server's programs. */
async function binaries(say: (line: string) => void): Promise<string> {
  const found = installed();
  if (found) return found;
  const manager = usablePackageManager();
  if (manager !== "apt-get")
    throw new Error("this recipe needs PostgreSQL: install it, or name a database in DATABASE_URL");
  say("installing postgresql with apt-get");
  await installPackage(manager, "postgresql", []);
  return installed()!;
}

async function startDatabase(bin: string, say: (line: string) => void): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), "quorlock-postgres-"));
  // The server refuses to run as root: Debian's package has a user for it.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execFileSync("chown", ["postgres", folder]);
  const as = (program: string, ...args: string[]): readonly [string, string[]] =>
    isRoot
      ? ["setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", join(bin, program), ...args]]
      : [join(bin, program), args];
  const data = join(folder, "data");
  const [initdb, initArgs] = as(
    "initdb",
    "--pgdata",
    data,
    "--auth=trust",
    "--username=postgres",
    "--no-sync",
  );
  execFileSync(initdb, initArgs, { cwd: folder, stdio: "ignore" });
  const [server, serverArgs] = as("postgres", "-D", data, "-c", "listen_addresses=", "-k", folder);
  const child = spawn(server, serverArgs, { cwd: folder, stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const pool = new Pool({ host: folder, user: "postgres", database: "postgres" });
  // The server ends before its connections do.
  pool.on("error", () => {});
  await answered(pool);
  say(
    `PostgreSQL ${execFileSync(join(bin, "postgres"), ["--version"], { encoding: "utf8" }).trim().split(" ").at(2)} is up`,
  );
  return {
    pool,
    async [Symbol.asyncDispose]() {
      await pool.end();
      child.kill("SIGINT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answered(pool: Pool): Promise<void> {
  for (const until = Date.now() + 20_000; ; ) {
    try {
      await pool.query("SELECT 1");
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
