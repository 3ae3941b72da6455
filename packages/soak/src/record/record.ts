import { writeFileSync } from "node:fs";
import { now } from "@quorlock/simulation/processes";
import type { Redis } from "ioredis";
import type { Hold } from "../history/history.ts";

/** The requests to the masters about one key, in the order of each, and who held it when. Times are ms of the machine's wall clock. */
export interface SoakRecord {
  readonly key: string;
  readonly masters: number;
  readonly entries: readonly Entry[];
  readonly holds: readonly RecordedHold[];
}

/** A command, or one that its script made ("lua"). */
export interface Entry {
  readonly master: number;
  readonly at: number;
  readonly source: string;
  readonly args: readonly string[];
}

export type RecordedHold = Pick<Hold, "grantedAt" | "validUntil" | "releasedAt" | "worker"> & {
  readonly token: string;
};

/** Listens to what masters are asked (MONITOR), and keeps what concerns one key. */
export class MasterRecorder implements Disposable {
  readonly #key: string;
  readonly #entries: Entry[] = [];
  readonly #monitors: Redis[] = [];
  #isWhole = true;

  private constructor(key: string) {
    this.#key = key;
  }

  static async listen(admins: readonly Redis[], key: string): Promise<MasterRecorder> {
    const recorder = new MasterRecorder(key);
    await Promise.all(admins.map((admin, master) => recorder.#listenTo(admin, master)));
    return recorder;
  }

  async #listenTo(admin: Redis, master: number): Promise<void> {
    const monitor = await admin.monitor();
    this.#monitors.push(monitor);
    let isIts = false;
    monitor.on("error", () => {});
    monitor.on("monitor", (time: string, args: string[], source: string) => {
      if (source !== "lua") isIts = args.includes(this.#key);
      // (Line breaks are shown as they are written.)
      const read = args.map((arg) => arg.replaceAll("\\n", "\n"));
      if (isIts) this.#entries.push({ master, at: Number(time) * 1000, source, args: read });
    });
    monitor.on("close", () => {
      this.#isWhole = false;
    });
  }

  write(file: string, holds: readonly Hold[]): void {
    if (!this.#isWhole)
      throw new Error("the connection by which a master is listened to was closed: no record");
    const samples = Array.from({ length: 1000 }, () => Date.now() - now());
    // Date.now() is rounded down.
    const offset = Math.max(...samples);
    const mine = holds.flatMap(({ key, token, grantedAt, validUntil, releasedAt, worker }) =>
      key === this.#key && token !== undefined
        ? [
            {
              token,
              worker,
              grantedAt: grantedAt + offset,
              validUntil: validUntil + offset,
              ...(releasedAt === undefined ? {} : { releasedAt: releasedAt + offset }),
            },
          ]
        : [],
    );
    const record: SoakRecord = {
      key: this.#key,
      masters: this.#monitors.length,
      entries: this.#entries,
      holds: mine,
    };
    writeFileSync(file, `${JSON.stringify(record)}\n`);
  }

  [Symbol.dispose](): void {
    for (const monitor of this.#monitors) monitor.disconnect();
  }
}
