export type { Master, Masters, MastersOptions, MastersSource } from "./masters.ts";
export { NoMastersError } from "./masters.ts";
export type { Direction, Proxy, ProxyCounters, ProxyTraffic } from "./proxy.ts";
export { startProxy } from "./proxy.ts";
export { startMasters } from "./start-masters.ts";
