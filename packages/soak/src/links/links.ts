import { remoteOf, startProcess } from "@quorlock/simulation/processes";
import type { Master } from "@quorlock/testbed";
import type { LinkFault } from "./link-fault.ts";
import type { LinksSide } from "./process.ts";

/** One link from a worker to a master, both by index. */
export interface LinkEnds {
  readonly worker: number;
  readonly master: number;
}

/**
 * The links between each worker and each master, seen from the main process. A link has one fault at a time: a new
 * fault affects only the links without one, and ends only there.
 */
export class Links implements AsyncDisposable {
  readonly #child = startProcess(new URL("process.ts", import.meta.url));
  readonly #remote = remoteOf<LinksSide, object>(this.#child, {});
  readonly #faulty = new Set<string>();
  #urls: readonly (readonly string[])[] = [];

  static async lay(masters: readonly Master[], workers: number): Promise<Links> {
    const links = new Links();
    const targets = masters.map(({ host, port, url }) => ({ host, port, url }));
    links.#urls = await links.#remote.lay(targets, workers);
    return links;
  }

  get pid(): number | undefined {
    return this.#child.process.pid;
  }

  /** The masters' addresses, as this worker has to use them. */
  urlsFor(worker: number): readonly string[] {
    return this.#urls[worker]!;
  }

  /** Injects `fault` into the links of `wanted` that have none. Returns a function that ends it. */
  async inject(wanted: readonly LinkEnds[], fault: LinkFault): Promise<() => Promise<void>> {
    const healthy = wanted.filter((ends) => !this.#faulty.has(nameOf(ends)));
    for (const ends of healthy) this.#faulty.add(nameOf(ends));
    await Promise.all(healthy.map(({ worker, master }) => this.#remote.inject(worker, master, fault)));
    return async () => {
      await Promise.all(healthy.map(({ worker, master }) => this.#remote.heal(worker, master)));
      for (const ends of healthy) this.#faulty.delete(nameOf(ends));
    };
  }

  /** All new connections to a master go there from now on. */
  pointTo(master: number, { host, port }: Pick<Master, "host" | "port">): Promise<void> {
    return this.#remote.pointTo(master, { host, port });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill();
  }
}

function nameOf({ worker, master }: LinkEnds): string {
  return `${worker}-${master}`;
}
