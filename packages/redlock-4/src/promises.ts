// oxlint-disable typescript/no-generated-empty-object-type -- the Disposer of Bluebird has no members.
import type Bluebird from "bluebird";

// The promises of redlock 4: Bluebird's, where the user has it, and native ones otherwise.

// biome-ignore lint/suspicious/noExplicitAny: as @types/redlock declares it, so that code for it compiles.
export type Done<T> = (error: any, value?: T) => void;

/** Where the types of Bluebird are not installed, they are `any` to the compiler. */
type IsAbsent = unknown extends Bluebird<unknown> ? true : false;

export type Promised<T> = IsAbsent extends true ? Promise<T> : Bluebird<T>;

export type Disposer<T> = IsAbsent extends true ? unknown : Bluebird.Disposer<T>;

interface BluebirdClass {
  resolve<T>(work: Promise<T>): Promise<T> & { disposer(dispose: (value: T) => unknown): unknown };
}

/** The one beside this package, or beside the program: where code is bundled, only the latter is left. */
function findBluebird(): BluebirdClass | undefined {
  const { createRequire } = process.getBuiltinModule("node:module");
  for (const place of [() => import.meta.filename, () => `${process.cwd()}/program.js`]) {
    try {
      return createRequire(place())("bluebird") as BluebirdClass;
    } catch {
      // Not there.
    }
  }
  return undefined;
}

export const bluebird: BluebirdClass | undefined = findBluebird();

/** The promise of a call; it is also told to `callback`, if there is one, which then handles a rejection. */
export function promised<T>(work: Promise<T>, callback: Done<T> | undefined): Promised<T> {
  const promise = bluebird ? bluebird.resolve(work) : work;
  if (typeof callback === "function") {
    const tell: Done<T> = (...result) => {
      try {
        callback(...result);
      } catch (error) {
        // Uncaught, as an error in a callback is: no rejection.
        setImmediate(() => {
          throw error;
        });
      }
    };
    promise.then(
      (value) => tell(null, value),
      (error: unknown) => tell(error),
    );
  }
  return promise as Promised<T>;
}
