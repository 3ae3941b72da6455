import { EventEmitter, once } from "node:events";
import type { Fixture } from "../fixture/fixture.ts";
import { listed } from "../fixture/narrator.ts";
import { WorkerGroup } from "../fixture/worker-group.ts";
import { Ledger } from "./ledger.ts";
import type { Links } from "./links.ts";
import { follow } from "./narration.ts";
import type { Shop } from "./shop.ts";
import { stockSize, workers } from "./terms.ts";
import type { Order, Report } from "./worker.ts";

/** The worker processes, controlled by the parent. */
export class Staff {
  readonly #fixture: Fixture;
  readonly #shop: Shop;
  readonly #workers: WorkerGroup<Order, Report>;
  readonly #reports = new EventEmitter();
  /** Workers that are ready for a sale, and that have finished it. */
  readonly #count = { ready: 0, closed: 0 };
  /** Sales per printed line. */
  #step = 0;
  #ledger = new Ledger(stockSize);

  constructor(fixture: Fixture, shop: Shop) {
    this.#fixture = fixture;
    this.#shop = shop;
    const script = new URL("worker.ts", import.meta.url);
    const handle = (name: string, report: Report): void => this.#handle(name, report);
    this.#workers = new WorkerGroup(fixture, script, workers, handle, [shop.directory]);
  }

  /** Calls `listener` on every report of a worker. */
  onReport(listener: () => void): void {
    this.#reports.on("report", listener);
  }

  /** Rejects when a worker process ends unexpectedly. */
  get broken(): Promise<never> {
    return this.#workers.broken;
  }

  /** Connects every worker to the masters over its own links. */
  async open(links: Links): Promise<void> {
    for (const worker of workers) {
      this.#workers.send(worker, { kind: "open", urls: links.urlsFor(worker) });
    }
    await this.#untilAll("ready");
    const { narrator } = this.#fixture;
    narrator.event("open", "cyan", `${listed(workers)} sell, each in a process of its own`);
  }

  /** Starts the sale of the whole stock. The ledger is complete when `untilClosed` resolves. */
  async sell(locked: boolean): Promise<Ledger> {
    await this.#shop.writeStock(stockSize);
    this.#ledger = new Ledger(stockSize);
    this.#count.closed = 0;
    this.#step = locked ? 20 : 100;
    this.#workers.sendAll({ kind: "sell", locked });
    return this.#ledger;
  }

  /** Resolves when every worker has found the stock empty. */
  untilClosed(): Promise<void> {
    return this.#untilAll("closed");
  }

  /**
   * Makes the payment hang when `left` items are left, until the worker's signal aborts. Resolves with that worker. It
   * holds the lock, so no further item is sold before it is cut off, even if the masters are slow.
   */
  async hangPayment(left: number): Promise<string> {
    const begun = once(this.#reports, "payment-hangs");
    this.#workers.sendAll({ kind: "hang-payment", at: left });
    const [, worker] = (await begun) as [Report, string];
    this.#workers.sendAll({ kind: "hang-payment", at: undefined });
    return worker;
  }

  /** Resolves at the next abort of a worker's signal; only the holder's signal can abort. */
  async nextAbort(): Promise<{ readonly at: number; readonly standstill: number | undefined }> {
    const [report] = (await once(this.#reports, "aborted")) as [
      { at: number; standstill: number | undefined },
    ];
    return report;
  }

  /** Ends all worker processes in order. */
  leave(): Promise<void> {
    return this.#workers.leave({ kind: "leave" });
  }

  async #untilAll(kind: "ready" | "closed"): Promise<void> {
    while (this.#count[kind] < workers.length) await once(this.#reports, kind);
  }

  #handle(worker: string, report: Report): void {
    const { narrator } = this.#fixture;
    if (report.kind === "hold") {
      const hold = { worker, ...report.hold };
      this.#ledger.add(hold);
      follow(narrator, this.#ledger, hold, this.#step);
    } else if (report.kind === "ready" || report.kind === "closed") this.#count[report.kind] += 1;
    this.#reports.emit(report.kind, report, worker);
    this.#reports.emit("report");
  }
}
