import { InvalidArgumentError } from "../errors.ts";

/**
 * Lets the methods of redlock 4, which are missing here, throw an error that names their replacement and the page that
 * translates them. They are hidden from types and from printing.
 */
export function namesOfRedlock4(prototype: object, replacements: Readonly<Record<string, string>>): void {
  for (const [name, replacement] of Object.entries(replacements)) {
    Object.defineProperty(prototype, name, {
      value: () => {
        throw new InvalidArgumentError(
          `${name}() is a method of redlock 4: call ${replacement}() instead, see docs/redlock-4.md of this package`,
        );
      },
    });
  }
}
