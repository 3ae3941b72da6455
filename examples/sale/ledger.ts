/** One access of a worker to the stock: from the grant of the lock, if there is one, to its end. */
export interface Hold {
  readonly worker: string;
  /** On the machine's monotonic clock, ms. */
  readonly granted: number;
  readonly ended: number;
  /** Whether a sale was confirmed to a customer. */
  readonly sold: boolean;
  /** The items left by the worker's own count; undefined if it stopped before. */
  readonly left: number | undefined;
}

/** Every access to the stock, in the order of the reports. Entries are never removed. */
export class Ledger {
  readonly holds: Hold[] = [];
  readonly #stock: number;
  readonly #waits: Array<() => boolean> = [];

  constructor(stock: number) {
    this.#stock = stock;
  }

  /** The number of sales that were confirmed to customers. */
  get sold(): number {
    return this.holds.filter(({ sold }) => sold).length;
  }

  /** The confirmed sales beyond the stock. */
  get oversold(): number {
    return Math.max(0, this.sold - this.#stock);
  }

  soldBy(worker: string): number {
    return this.holds.filter((hold) => hold.worker === worker && hold.sold).length;
  }

  /** The maximum number of workers in the critical section at the same time. */
  get mostAtOnce(): number {
    const steps = this.holds.flatMap(({ granted, ended }) => [
      { at: granted, by: 1 },
      { at: ended, by: -1 },
    ]);
    let present = 0;
    let most = 0;
    for (const { by } of steps.sort((a, b) => a.at - b.at || a.by - b.by)) {
      present += by;
      most = Math.max(most, present);
    }
    return most;
  }

  add(hold: Hold): void {
    this.holds.push(hold);
    for (const wait of [...this.#waits]) {
      if (wait()) this.#waits.splice(this.#waits.indexOf(wait), 1);
    }
  }

  untilSold(count: number): Promise<unknown> {
    return this.#until(() => (this.sold >= count ? true : undefined));
  }

  /** Resolves with the first hold of another worker granted after `moment`, when it is over. */
  nextHold(moment: number, except: string): Promise<Hold> {
    return this.#until(() => this.holds.find((hold) => hold.granted > moment && hold.worker !== except));
  }

  /** Resolves with the hold of `worker` that includes `moment`, when it is over. */
  holdAt(moment: number, worker: string): Promise<Hold> {
    return this.#until(() =>
      this.holds.find((hold) => hold.worker === worker && hold.granted <= moment && hold.ended >= moment),
    );
  }

  #until<T>(look: () => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const wait = (): boolean => {
        const found = look();
        if (found === undefined) return false;
        resolve(found);
        return true;
      };
      if (!wait()) this.#waits.push(wait);
    });
  }
}
