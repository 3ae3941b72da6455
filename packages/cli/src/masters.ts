import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Redis, type RedisOptions } from "ioredis";
import { UsageError } from "./output.ts";

// The masters that a command talks to: their addresses, their secrets, and connections that never retry.

/** How one master is reached. Only `name` is ever printed. */
export interface Master {
  /** `host:port`, or the path of a socket: without user and password. */
  readonly name: string;
  readonly place: { readonly host: string; readonly port: number } | { readonly path: string };
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: NonNullable<RedisOptions["tls"]> | undefined;
}

/** The options that every command with masters has. */
export interface MastersOptions {
  /** Addresses; those of `doctor` are arguments. */
  readonly master?: readonly string[] | undefined;
  readonly nodesFile?: string | undefined;
  readonly user?: string | undefined;
  readonly passwordFile?: string | undefined;
  readonly askpass?: boolean | undefined;
  readonly tls?: boolean | undefined;
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly insecure?: boolean | undefined;
}

export const shapes = "redis://host:port, rediss://host:port, unix:///path or host:port";

/**
 * The masters of the arguments, or of `--nodes-file`, or of `REDLOCK_NODES`.
 * @throws UsageError that names the place of a mistake and not the text there, which may hold a password.
 */
export function mastersFrom(
  given: readonly string[] | undefined,
  options: MastersOptions,
  environment: NodeJS.ProcessEnv,
): readonly Master[] {
  const { addresses, source } = addressesOf(given, options, environment["REDLOCK_NODES"] ?? "");
  if (addresses.length === 0)
    throw new UsageError(`no masters: pass their addresses (${shapes}), --nodes-file or REDLOCK_NODES`);
  const shared = sharedBy(options, environment);
  if (source === ofArguments && addresses.some(hasPassword))
    console.error(`quorlock: ps shows every user a password in an argument; ${secretPlaces} do not`);
  return addresses.map((address, index) => masterAt(address, `address ${index + 1} of ${source}`, shared));
}

function addressesOf(
  given: readonly string[] = [],
  { nodesFile }: MastersOptions,
  nodes: string,
): { readonly addresses: readonly string[]; readonly source: string } {
  if (given.length > 0 && nodesFile !== undefined)
    throw new UsageError("pass the addresses as arguments or by --nodes-file, not both");
  if (given.length > 0) return { addresses: given, source: ofArguments };
  const isFile = nodesFile !== undefined;
  const parts = isFile ? fileOf("--nodes-file", nodesFile).split("\n") : nodes.split(",");
  const addresses = parts.map((part) => part.trim()).filter((part) => part !== "" && !part.startsWith("#"));
  return { addresses, source: isFile ? "--nodes-file" : "REDLOCK_NODES" };
}

/** The text of a file that an option names. */
export function fileOf(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${option}: the file cannot be read (${codeOf(error)})`);
  }
}

/** The parts that an address may leave out. */
type Shared = Pick<Master, "username" | "password" | "tls"> & { readonly usesTls: boolean };

function sharedBy(options: MastersOptions, environment: NodeJS.ProcessEnv): Shared {
  const { user, passwordFile, askpass, cacert, cert, key, insecure } = options;
  const files = Object.entries({ ca: cacert, cert, key }).flatMap(([name, path]) =>
    path === undefined ? [] : [[name, fileOf(name === "ca" ? "--cacert" : `--${name}`, path)]],
  );
  let password = environment["REDLOCK_PASSWORD"] || undefined;
  if (askpass) password = typed();
  else if (passwordFile !== undefined)
    password = fileOf("--password-file", passwordFile).replace(/\r?\n$/, "");
  return {
    username: user,
    password,
    tls: { ...Object.fromEntries(files), rejectUnauthorized: insecure !== true },
    usesTls: options.tls === true,
  };
}

const ofArguments = "the arguments";
const secretPlaces = "REDLOCK_PASSWORD, --password-file and --askpass";

/** On the terminal itself, so that a pipe may be the standard input: there it is the command's. Its settings are put back. */
const asking = `exec </dev/tty 2>/dev/tty && old=$(stty -g) && trap 'stty "$old"' EXIT && trap 'exit 130' HUP INT TERM
stty -echo && printf 'Password: ' >&2 && IFS= read -r password && echo >&2 && printf %s "$password"`;

/** The password that somebody types, without an echo. */
function typed(): string {
  try {
    return execFileSync("/bin/sh", ["-c", asking], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    throw new UsageError("--askpass: it needs a terminal to ask on, and an answer");
  }
}

function masterAt(address: string, where: string, shared: Shared): Master {
  const { username, password, tls, usesTls } = shared;
  const path = /^unix:(?:\/\/)?(\/[^?#]+)$/.exec(address)?.[1];
  if (path !== undefined)
    return { name: path, place: { path }, username, password, database: 0, tls: undefined };
  const isUrl = /^rediss?:\/\//.test(address);
  // Without a scheme it is a place and nothing else: what looks like a password is a mistake.
  const text = isUrl ? address : `redis://${address}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlace = url && (isUrl || !/[@/?#]/.test(address));
  const database = url && /^\/?(\d*)$/.exec(url.pathname)?.[1];
  if (!url?.hostname || !isPlace || database === undefined || url.search !== "" || url.hash !== "")
    throw new UsageError(`${where} is none of ${shapes}`);
  const port = Number(url.port || 6379);
  const user = decoded(url.username, where) || username;
  const secret = decoded(url.password, where) || password;
  if (user !== undefined && secret === undefined)
    throw new UsageError(`${where} has a user and no password: --password-file or REDLOCK_PASSWORD`);
  return {
    name: `${url.hostname}:${port}`,
    // URL keeps the brackets of an IPv6 address; sockets want it bare.
    place: { host: url.hostname.replace(/^\[|\]$/g, ""), port },
    username: user,
    password: secret,
    database: Number(database),
    tls: url.protocol === "rediss:" || (usesTls && !isUrl) ? tls : undefined,
  };
}

function hasPassword(address: string): boolean {
  return URL.canParse(address) && new URL(address).password !== "";
}

function decoded(part: string, where: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UsageError(`${where} has a % in its user or password that encodes nothing: write it as %25`);
  }
}

/** Rethrows what a server has refused: for a Sentinel, which knows no command of a lock, it is the code SENTINEL. */
export async function refusedBy(redis: Redis, error: unknown): Promise<never> {
  const info = codeOf(error) === "ERR" ? await redis.info("server").catch(() => "") : "";
  throw isSentinel(info) ? Object.assign(new Error(), { code: "SENTINEL" }) : error;
}

export const isSentinel = (info: string): boolean => /^redis_mode:sentinel/m.test(info);

/** The code, and the command that a user may not call, or what to do about a Sentinel. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === "SENTINEL") return `${code}: name the master that it watches`;
  const command = code === "NOPERM" && /'([a-z|]+)' command/.exec((error as Error).message)?.[1];
  return command ? `${code} ${command}` : code;
}

/** The result of `promise`; or a rejection as soon as `signal` aborts, whatever becomes of it. */
export function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** The time that one master has to answer at each step, and what ends all steps. */
export interface Limit {
  /** ms */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** Set if the answers of a quorum may be enough. */
  readonly patience?: Patience | undefined;
}

/** For how long the other masters are waited for, ms, once a quorum has answered: as long again as that took, and this. */
const patienceTime = 300;

/** Whether masters were given up that had time left. */
export interface Patience {
  hasGivenUp: boolean;
}

/** One step of all masters. With patience, those that a quorum has not waited for are ended. */
export class Step {
  readonly #patience: Patience | undefined;
  readonly #masters: number;
  readonly #pending = new Set<AbortController>();
  readonly #begun = performance.now();
  #answers = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ patience }: Limit, masters: number) {
    this.#patience = patience;
    this.#masters = masters;
  }

  /** `ending` ends what one master does. */
  began(ending: AbortController): void {
    this.#pending.add(ending);
  }

  answered(ending: AbortController): void {
    this.#pending.delete(ending);
    this.#answers += 1;
    const patience = this.#patience;
    if (!patience || this.#answers <= this.#masters / 2) return;
    const time = performance.now() - this.#begun + patienceTime;
    this.#timer ??= setTimeout(() => this.#giveUp(patience), time);
  }

  over(): void {
    clearTimeout(this.#timer);
  }

  #giveUp(patience: Patience): void {
    patience.hasGivenUp = true;
    for (const ending of this.#pending) ending.abort(new DOMException("no answer", "TimeoutError"));
  }
}

/** The result of `act`. Its signal, that of `ending`, aborts when the time is over and with the signal of the limit. */
export async function within<T>(
  { timeout, signal }: Limit,
  act: (signal: AbortSignal) => Promise<T>,
  ending: AbortController = new AbortController(),
): Promise<T> {
  // Node 20 may collect an `AbortSignal.timeout` that only an `AbortSignal.any` refers to: it would never abort.
  const timer = setTimeout(() => ending.abort(new DOMException("no answer", "TimeoutError")), timeout);
  const end = (): void => ending.abort(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await act(ending.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** A connection to this master, authenticated. It never retries, and is destroyed when `signal` aborts. */
export async function connect(master: Master, signal: AbortSignal): Promise<Redis> {
  const redis = new Redis({
    ...master.place,
    ...(master.tls && { tls: master.tls }),
    lazyConnect: true,
    protocol: 2,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    autoResubscribe: false,
    disableClientInfo: true,
    // `signal` ends it.
    connectTimeout: 2 ** 31 - 1,
  });
  let failure: unknown;
  redis.on("error", (error: unknown) => {
    failure ??= error;
  });
  const destroy = (): void => {
    redis.disconnect();
    // A hung server never closes its side.
    redis.stream?.destroy();
  };
  signal.addEventListener("abort", destroy, { once: true });
  if (signal.aborted) destroy();
  await unlessAborted(
    signal,
    redis.connect().catch((error: unknown) => {
      throw failure ?? error;
    }),
  );
  const refused = (error: unknown): Promise<never> => refusedBy(redis, error);
  // Here and not in the options: ioredis would print warnings, and would go on where this is refused.
  const { username, password, database } = master;
  if (password !== undefined) {
    const credentials = username === undefined ? [password] : [username, password];
    await unlessAborted(signal, redis.call("AUTH", ...credentials).catch(refused));
  }
  if (database !== 0) await unlessAborted(signal, redis.select(database).catch(refused));
  return redis;
}

/** A client of this master that reconnects, as an application has one. It connects when it is first used. */
export function clientOf({ place, username, password, database, tls }: Master): Redis {
  const redis = new Redis({
    ...place,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls }),
    db: database,
    lazyConnect: true,
  });
  // A Redlock reports what fails.
  redis.on("error", () => {});
  return redis;
}

/**
 * The kind of an error in a word: the code of a reply, or that of the system. The text of an error is never printed: it
 * may repeat what it was given.
 */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "ERR";
  if (error.name === "TimeoutError") return "TIMEOUT";
  const isForbidden = /\bNOPERM\b|executing the script|ACL failure in script/.test(error.message);
  if (isForbidden) return "NOPERM";
  if (error.message.includes("max number of clients")) return "MAXCLIENTS";
  const code = "code" in error ? String(error.code) : /^[A-Z]{2,}\b/.exec(error.message)?.[0];
  if (code !== undefined && /^[A-Z][A-Z\d_]*$/.test(code)) return code;
  return error.message === "Connection is closed." ? "CLOSED" : "ERR";
}
