export { type Instrumentable, instrument } from "./instrument.ts";
export { type RegisterOptions, register } from "./register.ts";
export type { ResourceClass } from "./resource-class.ts";
