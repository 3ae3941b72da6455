export { findExecutable } from "./executables.ts";
export { type ClockedMasters, type MasterClock, startMastersWithClocks } from "./faketime.ts";
export type { Master, Masters, MastersOptions, MastersSource } from "./masters.ts";
export { NoMastersError } from "./masters.ts";
export { installPackage, usablePackageManager } from "./packages.ts";
export type { Direction, Proxy, ProxyCounters, ProxyTraffic } from "./proxy.ts";
export { startProxy } from "./proxy.ts";
export { startMasters } from "./start-masters.ts";
export { type Watchdog, watchProcesses } from "./watchdog.ts";
