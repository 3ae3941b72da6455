import { MasterClock } from "../protocol/master-clock.ts";
import type { Runtime } from "../time/runtime.ts";
import type { Connection } from "./connection.ts";
import { timeIn } from "./reply-numbers.ts";

/** The readings of the master's clock when a connection is made: the most exact one counts. */
const firstReadings = 3;

export type ClockRuntime = Pick<Runtime, "monotonic" | "wall" | "setTimer">;

/** The clock of the master that a connection leads to, one for all nodes of the connection. */
export class ConnectionClock extends MasterClock {
  /** Whether it is read when a connection is made: its users wait in queues. */
  isReadFirst = false;
  readonly runtime: ClockRuntime;

  constructor(connection: Connection, runtime: ClockRuntime) {
    super(runtime);
    this.runtime = runtime;
    connection.onReady(() => {
      if (this.isReadFirst) void this.#readFirst(connection);
    });
  }

  /** Not in the burst of calls that needs it, which hears the answers late (PROTOCOL 7.2). */
  async #readFirst(connection: Connection): Promise<void> {
    const { session } = connection;
    for (let count = 0; count < firstReadings; count += 1) {
      const sent = this.now();
      const time = timeIn(await connection.send("TIME", []).catch(() => undefined));
      if (connection.session !== session) return;
      if (count === 0) this.forget();
      if (time === undefined) return;
      this.observe(sent, time);
    }
  }
}
