import { EventEmitter, once } from "node:events";
import { now } from "../stage/clock.ts";
import { Crew } from "../stage/crew.ts";
import { listed, milliseconds } from "../stage/narrator.ts";
import type { Stage } from "../stage/stage.ts";
import type { Order, Report } from "./server.ts";

/** Who would draw: a process each. */
export const servers = ["Anna", "Ben", "Cleo", "Dora", "Emil", "Fay"];

/** Between the order and the draw, ms: all servers have the order by then, and begin at the same moment. */
const notice = 200;

/** The server processes, as their parent sees them. */
export class Hall {
  readonly #stage: Stage;
  readonly #crew: Crew<Order, Report>;
  readonly #reports = new EventEmitter();
  readonly #count = { ready: 0, drew: 0, "gave up": 0 };

  constructor(stage: Stage) {
    this.#stage = stage;
    const script = new URL("server.ts", import.meta.url);
    this.#crew = new Crew(stage, script, servers, (name, report) => this.#hear(name, report));
  }

  get broken(): Promise<never> {
    return this.#crew.broken;
  }

  /** How often the lottery was drawn. */
  async draw(urls: readonly string[]): Promise<number> {
    const { narrator } = this.#stage;
    this.#crew.tellAll({ kind: "open", urls });
    await this.#until(() => this.#count.ready === servers.length);
    narrator.heading("The draw");
    narrator.event("ready", "cyan", `${listed(servers)}: processes ${listed(this.#crew.pids)}`);
    this.#crew.tellAll({ kind: "draw", at: now() + notice });
    await this.#until(() => this.#count.drew + this.#count["gave up"] === servers.length);
    await this.#crew.leave({ kind: "leave" });
    return this.#count.drew;
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this.#reports, "report");
  }

  #hear(name: string, report: Report): void {
    const { narrator } = this.#stage;
    this.#count[report.kind] += 1;
    if (report.kind === "drew") {
      const ticket = `${report.ticket}`.padStart(6, "0");
      narrator.event("lock", "green", `${name} draws ticket ${ticket} (after ${milliseconds(report.after)})`);
    } else if (report.kind === "gave up") {
      narrator.event(
        "null",
        "dim",
        `${name} leaves it to whoever has the lock (after ${milliseconds(report.after)})`,
      );
    }
    this.#reports.emit("report");
  }
}
