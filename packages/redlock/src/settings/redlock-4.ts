import { InvalidArgumentError } from "../errors.ts";

const page = "see docs/redlock-4.md of this package";

/**
 * Lets the methods of redlock 4, which are missing here, throw an error that names their replacement and the page that
 * translates them. They are hidden from types and from printing.
 */
export function namesOfRedlock4(prototype: object, replacements: Readonly<Record<string, string>>): void {
  for (const [name, replacement] of Object.entries(replacements)) {
    const value = () => {
      throw new InvalidArgumentError(
        `${name}() is a method of redlock 4: call ${replacement}() instead, ${page}`,
      );
    };
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}

/** The same for properties: reading one throws, since `undefined` would go unnoticed. */
export function propertiesOfRedlock4(target: object, replacements: Readonly<Record<string, string>>): void {
  for (const [name, replacement] of Object.entries(replacements)) {
    const get = () => {
      throw new InvalidArgumentError(
        `${name} is a property of redlock 4: use ${replacement} instead, ${page}`,
      );
    };
    // A subclass may have a property of that name.
    const set = function (this: object, value: unknown): void {
      Object.defineProperty(this, name, { value, writable: true, configurable: true, enumerable: true });
    };
    Object.defineProperty(target, name, { get, set, configurable: true });
  }
}

/** The same for the event of redlock 4, which would never be emitted. */
export function eventOfRedlock4(prototype: object): void {
  for (const name of ["on", "once", "addListener", "prependListener", "prependOnceListener"]) {
    const inherited = Reflect.get(prototype, name) as (...args: unknown[]) => unknown;
    const value = function (this: unknown, ...args: unknown[]): unknown {
      if (args[0] === "clientError") {
        throw new InvalidArgumentError(`clientError is an event of redlock 4: use error instead, ${page}`);
      }
      return inherited.apply(this, args);
    };
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}

/** Refuses a callback, which would never be called. */
export function refuseCallback(callback: unknown, call: string): void {
  if (typeof callback !== "function") return;
  throw new InvalidArgumentError(`${call}() returns a promise: the callback is one of redlock 4, ${page}`);
}
