import type { Master } from "@quorlock/testbed";
import { remoteOf } from "../processes/remote.ts";
import { endProcess, startProcess } from "../processes/start.ts";
import type { LineFault } from "./line-fault.ts";
import type { LinesSide } from "./process.ts";

/** One line: from a worker to a master, both by their index. */
export interface LineEnds {
  readonly worker: number;
  readonly master: number;
}

/**
 * The links between each worker and each master, as the conductor sees them. A link has one fault at a time: a new
 * fault takes only the links without one, and heals only these.
 */
export class Lines implements AsyncDisposable {
  readonly #child = startProcess(new URL("process.ts", import.meta.url));
  readonly #remote = remoteOf<LinesSide, object>(this.#child, {});
  readonly #struck = new Set<string>();
  #urls: readonly (readonly string[])[] = [];

  static async lay(masters: readonly Master[], workers: number): Promise<Lines> {
    const lines = new Lines();
    const ports = await lines.#remote.lay(
      masters.map(({ host, port }) => ({ host, port })),
      workers,
    );
    lines.#urls = ports.map((set) => set.map((port, index) => withPort(masters[index]!.url, port)));
    return lines;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The masters' addresses, as this worker has to use them. */
  urlsFor(worker: number): readonly string[] {
    return this.#urls[worker]!;
  }

  /** Strikes those of `wanted` that are whole, and returns how to heal them. */
  async strike(wanted: readonly LineEnds[], fault: LineFault): Promise<() => Promise<void>> {
    const whole = wanted.filter((ends) => !this.#struck.has(nameOf(ends)));
    for (const ends of whole) this.#struck.add(nameOf(ends));
    await Promise.all(whole.map(({ worker, master }) => this.#remote.strike(worker, master, fault)));
    return async () => {
      await Promise.all(whole.map(({ worker, master }) => this.#remote.heal(worker, master)));
      for (const ends of whole) this.#struck.delete(nameOf(ends));
    };
  }

  /** Everybody's new connections to a master go there from now on. */
  pointTo(master: number, { host, port }: Pick<Master, "host" | "port">): Promise<void> {
    return this.#remote.pointTo(master, { host, port });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return endProcess(this.#child);
  }
}

function nameOf({ worker, master }: LineEnds): string {
  return `${worker}-${master}`;
}

/** Lines end on the loopback. Credentials, where there are any, stay. */
function withPort(address: string, port: number): string {
  const url = new URL(address);
  url.host = `127.0.0.1:${port}`;
  return url.href;
}
