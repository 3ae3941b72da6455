import { type Proxy as Link, type Master, startProxy } from "@quorlock/testbed";
import type { Fixture } from "../fixture/fixture.ts";
import { workers } from "./terms.ts";

/** The network links between each worker and each master: proxies that can be cut. */
export class Links {
  readonly #links = new Map<string, readonly Link[]>();

  static async lay(fixture: Fixture, masters: readonly Master[]): Promise<Links> {
    const laid = new Links();
    fixture.onEnd(() => Promise.all([...laid.#links.values()].flat().map((link) => link.stop())));
    for (const worker of workers) {
      laid.#links.set(worker, await Promise.all(masters.map((master) => startProxy(master))));
    }
    return laid;
  }

  /** The masters' URLs, through the worker's own proxies. */
  urlsFor(worker: string): readonly string[] {
    return this.#of(worker).map(({ url }) => url);
  }

  /** Drops all data between the worker and these masters, numbered from 1. The connections stay open. */
  cut(worker: string, masters: readonly number[]): void {
    for (const master of masters) {
      const link = this.#of(worker)[master - 1]!;
      link.dropRequests();
      link.dropReplies();
    }
  }

  async heal(worker: string): Promise<void> {
    await Promise.all(this.#of(worker).map((link) => link.heal()));
  }

  #of(worker: string): readonly Link[] {
    return this.#links.get(worker)!;
  }
}
