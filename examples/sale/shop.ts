import { mkdtempSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The stock: a number in a file, independent of the lock's masters. A sale reads the number, takes payment, and writes it
 * back less one. The shop itself does not prevent two concurrent sales.
 */
export class Shop {
  readonly directory: string;
  readonly #file: string;

  constructor(directory: string) {
    this.directory = directory;
    this.#file = join(directory, "stock");
  }

  /** A shop in a new temporary directory. In one step with its teardown: Ctrl-C does not come in between. */
  static build(): Shop {
    return new Shop(mkdtempSync(join(tmpdir(), "quorlock-shop-")));
  }

  async readStock(): Promise<number> {
    return Number(await readFile(this.#file, "utf8"));
  }

  /** Writes atomically: readers see the old number or the new one, so wrong numbers come from concurrent sales alone. */
  async writeStock(items: number): Promise<void> {
    const draft = `${this.#file}.${process.pid}`;
    await writeFile(draft, `${items}`);
    await rename(draft, this.#file);
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}
