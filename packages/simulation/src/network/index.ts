export { OneWay } from "./one-way.ts";
export { SimulatedConnection } from "./simulated-connection.ts";
export { SimulatedSubscription } from "./simulated-subscription.ts";
