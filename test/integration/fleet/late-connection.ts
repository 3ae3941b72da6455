// The package makes nodes of clients and exports no function for it.
import { type RedisClient, userOf } from "../../../packages/redlock/src/adapters/client-libraries.ts";
import { OwnConnection } from "../../../packages/redlock/src/adapters/own-connection.ts";

/** The grants that a master pushes are heard when the test says so. */
export class LateConnection extends OwnConnection {
  /** The pushes that were not heard yet, each as the function that lets it be heard. */
  readonly held: (() => void)[] = [];
  isLate = false;

  constructor(client: RedisClient) {
    super(userOf(client));
  }

  override subscribe(...[channel, hear, changed]: Parameters<OwnConnection["subscribe"]>): unknown {
    const hearLate = (message: string) => {
      if (this.isLate) this.held.push(() => hear(message));
      else hear(message);
    };
    return super.subscribe(channel, hearLate, changed);
  }
}
