import { EventEmitter, once } from "node:events";
import { Crew } from "../stage/crew.ts";
import { listed } from "../stage/narrator.ts";
import type { Stage } from "../stage/stage.ts";
import { Ledger } from "./ledger.ts";
import type { Lines } from "./lines.ts";
import { follow } from "./narration.ts";
import type { Shop } from "./shop.ts";
import { stockSize, workers } from "./terms.ts";
import type { Order, Report } from "./worker.ts";

/** The worker processes, as their parent sees them. */
export class Staff {
  readonly #stage: Stage;
  readonly #shop: Shop;
  readonly #crew: Crew<Order, Report>;
  readonly #reports = new EventEmitter();
  /** How many workers are where a sale begins, and where it ends. */
  readonly #count = { ready: 0, closed: 0 };
  /** After how many sales the next line is due. */
  #step = 0;
  #ledger = new Ledger(stockSize);

  constructor(stage: Stage, shop: Shop) {
    this.#stage = stage;
    this.#shop = shop;
    const script = new URL("worker.ts", import.meta.url);
    const hear = (name: string, report: Report): void => this.#hear(name, report);
    this.#crew = new Crew(stage, script, workers, hear, [shop.directory]);
  }

  /** Calls `listener` whenever a worker reports anything. */
  onReport(listener: () => void): void {
    this.#reports.on("report", listener);
  }

  /** Rejects when a worker process ends that should not. */
  get broken(): Promise<never> {
    return this.#crew.broken;
  }

  /** Connects every worker to the masters, over lines of its own. */
  async open(lines: Lines): Promise<void> {
    for (const worker of workers) {
      this.#crew.tell(worker, { kind: "open", urls: lines.urlsFor(worker) });
    }
    await this.#untilAll("ready");
    const { narrator } = this.#stage;
    narrator.event("open", "cyan", `${listed(workers)} sell, each in a process of its own`);
  }

  /** Begins a sale of the whole stock. Its ledger fills; `untilClosed` tells when it is complete. */
  async sell(locked: boolean): Promise<Ledger> {
    await this.#shop.writeStock(stockSize);
    this.#ledger = new Ledger(stockSize);
    this.#count.closed = 0;
    this.#step = locked ? 20 : 100;
    this.#crew.tellAll({ kind: "sell", locked });
    return this.#ledger;
  }

  /** Settles when every worker has found the stock empty. */
  untilClosed(): Promise<void> {
    return this.#untilAll("closed");
  }

  /**
   * Makes a payment hang when `left` items are left, until the signal of its worker aborts. Resolves to that worker,
   * which holds the lock: no further item is sold before the worker is cut off, however long the masters take.
   */
  async hangPayment(left: number): Promise<string> {
    const begun = once(this.#reports, "payment-hangs");
    this.#crew.tellAll({ kind: "hang-payment", at: left });
    const [, worker] = (await begun) as [Report, string];
    this.#crew.tellAll({ kind: "hang-payment", at: undefined });
    return worker;
  }

  /** When a worker's signal aborts next: nobody's does but that of the one who holds the lock. */
  async told(): Promise<{ readonly at: number; readonly standstill: number | undefined }> {
    const [report] = (await once(this.#reports, "told")) as [{ at: number; standstill: number | undefined }];
    return report;
  }

  /** Everybody goes home. */
  leave(): Promise<void> {
    return this.#crew.leave({ kind: "leave" });
  }

  async #untilAll(kind: "ready" | "closed"): Promise<void> {
    while (this.#count[kind] < workers.length) await once(this.#reports, kind);
  }

  #hear(worker: string, report: Report): void {
    const { narrator } = this.#stage;
    if (report.kind === "hold") {
      const hold = { worker, ...report.hold };
      this.#ledger.add(hold);
      follow(narrator, this.#ledger, hold, this.#step);
    } else if (report.kind === "ready" || report.kind === "closed") this.#count[report.kind] += 1;
    this.#reports.emit(report.kind, report, worker);
    this.#reports.emit("report");
  }
}
