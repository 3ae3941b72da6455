import { InvalidArgumentError } from "../errors.ts";
import { hasMethod, readable, shown } from "./ranges.ts";
import { settingNames } from "./settings.ts";

const inCalls = [...settingNames, "signal", "parent"];

/** The function or option that takes the options, as a message names it. */
export type Place =
  | "new Redlock"
  | "acquire, tryAcquire and using"
  | "extend, detach and release"
  | "ready"
  | "quit"
  | "restartGuard"
  | "clockWatch"
  | "exponentialBackoff"
  | PrimitivePlace;

/** The calls of another primitive. */
export type PrimitivePlace = string & { readonly primitive: true };

/** Names the calls of another primitive: they take the options of `acquire` that are not in `without`, and `more`. */
export function placeOf(name: string, without: readonly string[], more: readonly string[]): PrimitivePlace {
  optionsOf[name] = [...inCalls.filter((option) => !without.includes(option)), ...more];
  return name as PrimitivePlace;
}

const optionsOf: Record<string, readonly string[]> = {
  "new Redlock": [
    ...settingNames,
    "acquireConcurrency",
    "groupCommit",
    "queue",
    "fencing",
    "reentrant",
    "restartGuard",
    "clockWatch",
    "logger",
    "owner",
    "runtime",
  ],
  "acquire, tryAcquire and using": inCalls,
  "extend, detach and release": settingNames,
  ready: ["timeout", "signal"],
  quit: ["drain", "keepClients"],
  restartGuard: ["maxTtl", "durable"],
  clockWatch: ["maxOffset", "exclude", "maxTtl"],
  exponentialBackoff: ["initial", "maximum", "factor"],
};

/**
 * Checks that `options` is an object, or absent, and that each option is known in this place, and no inherited one. An
 * entry that is `undefined` or `null` counts as absent. Checks the values that are not numbers; those are checked where
 * they are used.
 * @throws InvalidArgumentError that names the unknown option, and a similar known one if there is one.
 */
export function checkOptions(options: unknown, place: Place, more: readonly string[] = []): void {
  if (options === undefined || options === null) return;
  readable(`options (${place})`, () => checkGiven(options, place, [...optionsOf[place]!, ...more]));
}

function checkGiven(options: unknown, place: Place, known: readonly string[]): void {
  if (typeof options !== "object" || options === null || Symbol.iterator in options) {
    throw new InvalidArgumentError(`options must be an object, but is ${shown(options)} (${place})`);
  }
  if (typeof (options as Partial<AbortSignal>).addEventListener === "function") {
    throw new InvalidArgumentError(
      `options must be an object: pass the AbortSignal as { signal } (${place})`,
    );
  }
  const within = place === "restartGuard" || place === "clockWatch" ? `${place}.` : "";
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null) continue;
    if (!known.includes(name)) throw unknownOption(name, known, place);
    const kind = kinds[name];
    if (!kind || kind.fits(value)) continue;
    throw new InvalidArgumentError(`${within}${name} must be ${kind.what}, but is ${shown(value)}`);
  }
  // Some options would count and others not: they are copied.
  for (const name of inheritedIn(options, known)) {
    throw new InvalidArgumentError(
      `options must have options of their own, but ${shown(name)} is inherited (${place}): pass { ...options, ${name} }`,
    );
  }
}

/** The options that a copy of `options` does not have: those of its prototypes, and hidden ones. */
function inheritedIn(options: object, known: readonly string[]): readonly string[] {
  const isOwn = (name: string): boolean => Object.prototype.propertyIsEnumerable.call(options, name);
  const names: string[] = known.filter((name) => name in options);
  for (const name in options) if (!(name in Object.prototype)) names.push(name);
  return names.filter((name) => !isOwn(name));
}

/**
 * Returns the constructor's options that are not absent. `more`: the names of options besides those.
 */
export function constructorOptions<Options extends object>(
  options: Options | null | undefined,
  more: readonly string[] = [],
): Partial<Options> {
  checkOptions(options, "new Redlock", more);
  const entries = Object.entries(options ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const present: Readonly<Record<string, unknown>> = Object.fromEntries(entries);
  for (const name of ["restartGuard", "clockWatch"] as const)
    if (typeof present[name] === "object") checkOptions(present[name], name);
  return present as Partial<Options>;
}

/** What an option may be that is no number. */
interface Kind {
  readonly what: string;
  readonly fits: (value: unknown) => boolean;
}

const flag: Kind = { what: "true or false", fits: (value) => typeof value === "boolean" };
const callback: Kind = { what: "a function", fits: (value) => typeof value === "function" };
const isParts = (value: unknown): boolean => typeof value === "object" && !Array.isArray(value);
const withMethods = (...methods: readonly string[]): Kind => ({
  what: `an object with the methods ${methods.join(", ")}`,
  fits: (value) => methods.every((name) => typeof Reflect.get(Object(value), name) === "function"),
});

/** By their names, which mean the same in all places. */
const kinds: Readonly<Record<string, Kind>> = {
  groupCommit: flag,
  queue: flag,
  fencing: flag,
  reentrant: {
    what: 'true, false or "handle"',
    fits: (value) => value === "handle" || typeof value === "boolean",
  },
  restartGuard: { what: "an object such as { maxTtl: 60_000 }", fits: isParts },
  clockWatch: {
    what: "true, false or an object such as { exclude: true }",
    fits: (value) => typeof value === "boolean" || isParts(value),
  },
  owner: {
    what: "a name of 1 to 100 characters, or false",
    fits: (value) =>
      value === false || (typeof value === "string" && value.length > 0 && value.length <= 100),
  },
  logger: withMethods("info", "warn", "error"),
  runtime: withMethods("monotonic", "wall", "randomBytes", "setTimer"),
  durable: {
    what: "true, false or a function",
    fits: (value) => typeof value === "boolean" || typeof value === "function",
  },
  exclude: flag,
  backoff: callback,
  signal: { what: "an AbortSignal", fits: (value) => hasMethod(value, "addEventListener") },
  keepClients: flag,
  keepOnError: flag,
  onStart: callback,
  onStop: callback,
  onError: callback,
};

/** Splits the arguments of a `using`-like call after the ttl: options or none, and the routine. */
export function routineAmong<O extends object, R>(
  call: string,
  ttl: unknown,
  given: readonly (O | R | null | undefined)[],
): { readonly options: O | undefined; readonly routine: R } {
  if (typeof ttl === "function") {
    throw new InvalidArgumentError(`${call} needs a ttl, in milliseconds, before the routine`);
  }
  const place = typeof given[0] === "function" ? 0 : 1;
  const routine = given[place];
  if (typeof routine !== "function") throw new InvalidArgumentError(`${call} needs a routine to run`);
  if (given.slice(place + 1).some((rest) => rest !== undefined && rest !== null)) {
    throw new InvalidArgumentError(`${call} takes its options before the routine, and nothing after it`);
  }
  const options = place === 0 ? undefined : (given[0] ?? undefined);
  return { options: options as O | undefined, routine };
}

function unknownOption(name: string, known: readonly string[], place: Place): InvalidArgumentError {
  const elsewhere = Object.entries(optionsOf).find(([, names]) => names.includes(name));
  // An option of @sesamecare-oss/redlock.
  const hint = name === "db" ? "; locks are in the database of the clients that you pass" : "";
  if (elsewhere) {
    return new InvalidArgumentError(`"${name}" is an option of ${elsewhere[0]}, not of ${place}`);
  }
  return new InvalidArgumentError(
    `unknown option ${shown(name)} of ${place}: it takes ${known.join(", ")}${hint}`,
  );
}
