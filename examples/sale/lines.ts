import { type Proxy as Line, type Master, startProxy } from "@quorlock/testbed";
import type { Stage } from "../stage/stage.ts";
import { workers } from "./terms.ts";

/** The lines between each worker and each master: proxies that can be cut. */
export class Lines {
  readonly #masters: readonly Master[];
  readonly #lines = new Map<string, readonly Line[]>();

  private constructor(masters: readonly Master[]) {
    this.#masters = masters;
  }

  static async lay(stage: Stage, masters: readonly Master[]): Promise<Lines> {
    const laid = new Lines(masters);
    stage.onEnd(() => Promise.all([...laid.#lines.values()].flat().map((line) => line.stop())));
    for (const worker of workers) {
      laid.#lines.set(worker, await Promise.all(masters.map((master) => startProxy(master))));
    }
    return laid;
  }

  /** The addresses of the masters, as the worker has to use them. */
  urlsFor(worker: string): readonly string[] {
    return this.#masters.map(({ url }, index) => {
      const address = new URL(url);
      const line = this.#of(worker)[index]!;
      address.hostname = line.host;
      address.port = String(line.port);
      return address.href;
    });
  }

  /** From now on nothing passes between the worker and these masters, numbered from 1. Nothing is refused either. */
  cut(worker: string, masters: readonly number[]): void {
    for (const master of masters) {
      const line = this.#of(worker)[master - 1]!;
      line.dropRequests();
      line.dropReplies();
    }
  }

  async heal(worker: string): Promise<void> {
    await Promise.all(this.#of(worker).map((line) => line.heal()));
  }

  #of(worker: string): readonly Line[] {
    return this.#lines.get(worker)!;
  }
}
