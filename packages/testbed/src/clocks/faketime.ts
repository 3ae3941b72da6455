import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Masters, type MastersOptions, mastersOf, NoMastersError } from "../masters.ts";
import { findServerBinary, startBinary } from "../servers/local-binary.ts";
import { watchProcesses } from "../watchdog.ts";
import { type FaketimeLibrary, faketimeLibrary } from "./faketime-library.ts";

/** The wall clock of one real master. Its monotonic clock is left alone. */
export interface MasterClock {
  /** Sets it forward by so much, ms, or back where it is negative. */
  step(milliseconds: number): void;
  /**
   * Sets its rate: 1.05 is 5 % fast. The change causes no step, to within a few milliseconds. (A restart of the master
   * resets the accumulated offset.)
   */
  run(rate: number): void;
}

/** Masters with a clock each, in the order of `list`. */
export interface ClockedMasters extends Masters {
  readonly clocks: readonly MasterClock[];
}

/**
 * Starts masters from the redis-server on the PATH under libfaketime, so that their wall clocks can be set while
 * they run. The library is installed where this process is root on a machine with apt-get.
 *
 * @throws NoMastersError where the server or the library cannot be had; the message says why.
 */
export async function startMastersWithClocks(
  count: number,
  options: Omit<MastersOptions, "source"> = {},
): Promise<ClockedMasters> {
  const say = options.say ?? ((line: string) => console.error(line));
  const server = findServerBinary();
  if (!server) throw new NoMastersError("masters with clocks need a redis-server on the PATH");
  const library = await faketimeLibrary(say);
  if ("unavailable" in library) throw new NoMastersError(`masters with clocks: ${library.unavailable}`);
  const directory = mkdtempSync(join(tmpdir(), "quorlock-clocks-"));
  // A program that forgets to stop them, or that a signal ends, leaves no files behind either.
  const watchdog = watchProcesses(directory);
  const clocks = Array.from({ length: count }, (_, index) => new FaketimeClock(directory, index));
  const { persistence = "none", config = [] } = options;
  const started = await Promise.allSettled(
    clocks.map((clock) =>
      startBinary(clock.wrap(server, library), 1, { persistence, config, say: () => {} }, "local-binary"),
    ),
  );
  const sets = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(sets.map((set) => set.stop()));
    rmSync(directory, { recursive: true, force: true });
    watchdog.dismiss();
  };
  const failure = started.find((result) => result.status === "rejected");
  if (failure) {
    await stop();
    throw failure.reason;
  }
  const list = sets.flatMap((set) => set.list);
  const ports = list.map((master) => master.port).join(", ");
  say(`testbed: ${count} masters with clocks (${server} under libfaketime) on ports ${ports}`);
  return Object.assign(mastersOf("local-binary", list, stop), { clocks });
}

/** A clock is a file: libfaketime reads it at every reading of the clock. */
class FaketimeClock implements MasterClock {
  readonly #file: string;
  readonly #wrapper: string;
  /** When the server process began, by the true wall clock: rates count from there. */
  readonly #began: string;
  #offset = 0;
  #rate = 1;

  constructor(directory: string, index: number) {
    this.#file = join(directory, `${index}.clock`);
    this.#began = join(directory, `${index}.began`);
    this.#wrapper = join(directory, `redis-server-${index}`);
    this.#write();
  }

  /** A program that runs `server` by this clock, in the same process. */
  wrap(server: string, { faketime, libc }: FaketimeLibrary): string {
    const environment = [
      // Redis's allocator reads the clock before libfaketime is ready; glibc's, loaded first, does not.
      `LD_PRELOAD='${faketime} ${libc}'`,
      "FAKETIME_NO_CACHE=1",
      "FAKETIME_DONT_FAKE_MONOTONIC=1",
      `FAKETIME_TIMESTAMP_FILE='${this.#file}'`,
    ];
    const script = [
      "#!/bin/sh",
      `date +%s.%N > '${this.#began}'`,
      `exec env ${environment.join(" ")} '${server}' "$@"`,
    ];
    writeFileSync(this.#wrapper, `${script.join("\n")}\n`);
    chmodSync(this.#wrapper, 0o755);
    return this.#wrapper;
  }

  step(milliseconds: number): void {
    this.#offset += milliseconds / 1000;
    this.#write();
  }

  run(rate: number): void {
    const running = Date.now() / 1000 - Number(readFileSync(this.#began, "utf8"));
    // The time that the new rate would have added since the start, and the old one did not.
    this.#offset -= running * (rate - this.#rate);
    this.#rate = rate;
    this.#write();
  }

  /** The server finds the old setting or the new one, never half of one. */
  #write(): void {
    const offset = `${this.#offset < 0 ? "" : "+"}${this.#offset.toFixed(6)}`;
    // Always with the rate: libfaketime keeps the one it had where none is named.
    writeFileSync(`${this.#file}.new`, `${offset} x${this.#rate}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
