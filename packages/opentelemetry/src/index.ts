export { type Instrumentable, instrument } from "./instrument.ts";
export { type RegisterOptions, register } from "./register.ts";
