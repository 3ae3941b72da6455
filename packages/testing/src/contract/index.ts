export { type Address, type ContractOptions, contract } from "./contract.ts";
// For a suite with your own masters, proxies or nodes.
export type { Driver, DriverMaker, MasterView, Path } from "./driver.ts";
export type { Framework } from "./framework.ts";
export { lockNodeContract } from "./lock-node-contract.ts";
export { masterViewOf } from "./master-view.ts";
export { type ProxyOfMaster, pathThrough } from "./proxy-path.ts";
