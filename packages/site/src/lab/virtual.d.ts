declare module "virtual:redlock-5" {
  /** The SHA-1 of each of its scripts, by its text. */
  export const digests: Readonly<Record<string, string>>;
  export function define(...surroundings: unknown[]): unknown;
}

declare module "*?raw" {
  const text: string;
  export default text;
}

declare module "events/events.js" {
  export { EventEmitter } from "node:events";
}
