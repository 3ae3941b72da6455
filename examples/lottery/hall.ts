import { EventEmitter, once } from "node:events";
import { now } from "@quorlock/simulation/processes";
import type { Fixture } from "../fixture/fixture.ts";
import { listed, milliseconds } from "../fixture/narrator.ts";
import { WorkerGroup } from "../fixture/worker-group.ts";
import type { Order, Report } from "./server.ts";

/** The competing servers, each in its own process. */
export const servers = ["Anna", "Ben", "Cleo", "Dora", "Emil", "Fay"];

/** From the order to the draw, ms: every server has received the order by then, so all start at the same time. */
const notice = 200;

/** The server processes, controlled by the parent. */
export class Hall {
  readonly #fixture: Fixture;
  readonly #workers: WorkerGroup<Order, Report>;
  readonly #reports = new EventEmitter();
  readonly #count = { ready: 0, drew: 0, "gave up": 0 };

  constructor(fixture: Fixture) {
    this.#fixture = fixture;
    const script = new URL("server.ts", import.meta.url);
    this.#workers = new WorkerGroup(fixture, script, servers, (name, report) => this.#handle(name, report));
  }

  get broken(): Promise<never> {
    return this.#workers.broken;
  }

  /** Returns the number of times that the lottery was drawn. */
  async draw(urls: readonly string[]): Promise<number> {
    const { narrator } = this.#fixture;
    this.#workers.sendAll({ kind: "open", urls });
    await this.#until(() => this.#count.ready === servers.length);
    narrator.heading("The draw");
    narrator.event("ready", "cyan", `${listed(servers)}: processes ${listed(this.#workers.pids)}`);
    this.#workers.sendAll({ kind: "draw", at: now() + notice });
    await this.#until(() => this.#count.drew + this.#count["gave up"] === servers.length);
    await this.#workers.leave({ kind: "leave" });
    return this.#count.drew;
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this.#reports, "report");
  }

  #handle(name: string, report: Report): void {
    const { narrator } = this.#fixture;
    this.#count[report.kind] += 1;
    if (report.kind === "drew") {
      const ticket = `${report.ticket}`.padStart(6, "0");
      narrator.event("lock", "green", `${name} draws ticket ${ticket} (after ${milliseconds(report.after)})`);
    } else if (report.kind === "gave up") {
      narrator.event(
        "null",
        "dim",
        `${name} leaves it to the holder of the lock (after ${milliseconds(report.after)})`,
      );
    }
    this.#reports.emit("report");
  }
}
