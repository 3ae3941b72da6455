import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The stock: a number in a file, nowhere near the lock's masters. Selling is reading it, taking payment, and
 * writing it back one less. Nothing here keeps two from doing that at the same time.
 */
export class Shop {
  readonly directory: string;
  readonly #file: string;

  constructor(directory: string) {
    this.directory = directory;
    this.#file = join(directory, "stock");
  }

  /** A shop in a new temporary directory. */
  static async build(): Promise<Shop> {
    return new Shop(await mkdtemp(join(tmpdir(), "quorlock-shop-")));
  }

  async readStock(): Promise<number> {
    return Number(await readFile(this.#file, "utf8"));
  }

  /** Readers see the old number or the new one, never half of it: what goes wrong is not the file's fault. */
  async writeStock(items: number): Promise<void> {
    const draft = `${this.#file}.${process.pid}`;
    await writeFile(draft, `${items}`);
    await rename(draft, this.#file);
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}
