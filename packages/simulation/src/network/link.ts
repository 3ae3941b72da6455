import type { Master } from "../master/master.ts";
import type { OneWay } from "./one-way.ts";
import type { SimulatedConnection } from "./simulated-connection.ts";
import type { SimulatedSubscription } from "./simulated-subscription.ts";

/** One connection, and the ways that it takes. */
export interface Wire {
  readonly requests: OneWay;
  readonly replies: OneWay;
}

/** The connections between one client and one master: one for commands, and one that only listens. */
export interface Link {
  readonly commands: Wire & { readonly connection: SimulatedConnection };
  readonly pushes: Wire & { readonly connection: SimulatedSubscription };
  readonly route: Route;
}

/** Where an address leads at present. */
export interface Route {
  /** Unless it is the server at home. */
  away: { readonly at: Master } | undefined;
}
