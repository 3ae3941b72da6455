export { LockedFilter } from "./locked-filter.ts";
export {
  type Held,
  heldLock,
  Locked,
  type LockedOptions,
  type MethodOfPromise,
  Once,
  type OnceMethodOptions,
} from "./methods.ts";
export { RedlockModule, type RedlockModuleExtras, type RedlockModuleOptions } from "./redlock-module.ts";
export { InjectRedlock, redlockToken } from "./tokens.ts";
