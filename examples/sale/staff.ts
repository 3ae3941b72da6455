import { EventEmitter, once } from "node:events";
import { Crew } from "../fixture/crew.ts";
import type { Fixture } from "../fixture/fixture.ts";
import { listed } from "../fixture/narrator.ts";
import { Ledger } from "./ledger.ts";
import type { Links } from "./links.ts";
import { follow } from "./narration.ts";
import type { Shop } from "./shop.ts";
import { stockSize, workers } from "./terms.ts";
import type { Office, Seller } from "./worker.ts";

/** The worker processes, controlled by the parent. */
export class Staff {
  readonly #fixture: Fixture;
  readonly #shop: Shop;
  readonly #sellers: Crew<Seller, Office>;
  /** "report" for each, and one for each kind. */
  readonly #reports = new EventEmitter();
  #selling: Promise<unknown> | undefined;
  /** Sales per printed line. */
  #step = 0;
  #ledger = new Ledger(stockSize);

  constructor(fixture: Fixture, shop: Shop) {
    this.#fixture = fixture;
    this.#shop = shop;
    const script = new URL("worker.ts", import.meta.url);
    this.#sellers = new Crew(fixture, script, workers, (worker) => this.#officeOf(worker));
  }

  /** Calls `listener` on every report of a worker. */
  onReport(listener: () => void): void {
    this.#reports.on("report", listener);
  }

  /** Rejects when a worker process ends unexpectedly. */
  get broken(): Promise<never> {
    return this.#sellers.broken;
  }

  /** Connects every worker to the masters over its own links. */
  async open(links: Links): Promise<void> {
    await this.#sellers.all((seller, name) => seller.open(this.#shop.directory, links.urlsFor(name)));
    const { narrator } = this.#fixture;
    narrator.event("open", "cyan", `${listed(workers)} sell, each in a process of its own`);
  }

  /** Starts the sale of the whole stock. The ledger is complete when `untilClosed` resolves. */
  async sell(locked: boolean): Promise<Ledger> {
    await this.#shop.writeStock(stockSize);
    this.#ledger = new Ledger(stockSize);
    this.#step = locked ? 20 : 100;
    this.#selling = this.#sellers.all((seller) => seller.sell(locked));
    return this.#ledger;
  }

  /** Resolves when every worker has found the stock empty. */
  async untilClosed(): Promise<void> {
    await this.#selling;
  }

  /**
   * Makes the payment hang when `left` items are left, until the worker's signal aborts. Resolves with that worker. It
   * holds the lock, so no further item is sold before it is cut off, even if the masters are slow.
   */
  async hangPayment(left: number): Promise<string> {
    const begun = once(this.#reports, "hangs");
    const hang = (at: number | undefined): void => {
      for (const worker of workers) void this.#sellers.the(worker).hangPayment.asEvent(at);
    };
    hang(left);
    const [worker] = (await begun) as [string];
    hang(undefined);
    return worker;
  }

  /** Resolves at the next abort of a worker's signal; only the holder's signal can abort. */
  async nextAbort(): Promise<{ readonly at: number; readonly standstill: number | undefined }> {
    const [at, standstill] = (await once(this.#reports, "aborted")) as [number, number | undefined];
    return { at, standstill };
  }

  /** Ends all worker processes in order. */
  leave(): Promise<void> {
    return this.#sellers.leave();
  }

  #officeOf(worker: string): Office {
    const report = (kind: "aborted" | "hangs" | "report", ...words: readonly unknown[]): void => {
      this.#reports.emit(kind, ...words);
      if (kind !== "report") this.#reports.emit("report");
    };
    return {
      held: (hold) => {
        const whole = { worker, ...hold };
        this.#ledger.add(whole);
        follow(this.#fixture.narrator, this.#ledger, whole, this.#step);
        report("report");
      },
      paymentHangs: () => report("hangs", worker),
      aborted: (at, standstill) => report("aborted", at, standstill),
    };
  }
}
