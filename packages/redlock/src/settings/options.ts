import { InvalidArgumentError } from "../errors.ts";
import { checkBoolean, isRevoked, readable, shown } from "./ranges.ts";
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
 * entry that is `undefined` or `null` counts as absent. The values are checked where they are used.
 * @throws InvalidArgumentError that names the unknown option, and a similar known one if there is one.
 */
export function checkOptions(options: unknown, place: Place, more: readonly string[] = []): void {
  if (options === undefined || options === null) return;
  readable(`options (${place})`, () => checkNames(options, place, [...optionsOf[place]!, ...more]));
}

function checkNames(options: unknown, place: Place, known: readonly string[]): void {
  const isList = !isRevoked(options) && Symbol.iterator in Object(options);
  if (typeof options !== "object" || options === null || isRevoked(options) || isList) {
    throw new InvalidArgumentError(`options must be an object, but is ${shown(options)} (${place})`);
  }
  if (typeof (options as Partial<AbortSignal>).addEventListener === "function") {
    throw new InvalidArgumentError(
      `options must be an object: pass the AbortSignal as { signal } (${place})`,
    );
  }
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && value !== null && !known.includes(name))
      throw unknownOption(name, known, place);
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
 * Returns the constructor's options that are not absent. Checks the types of those that are not numbers. `more`: the
 * names of options besides those.
 */
export function constructorOptions<Options extends object>(
  options: Options | null | undefined,
  more: readonly string[] = [],
): Partial<Options> {
  checkOptions(options, "new Redlock", more);
  const entries = Object.entries(options ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const present: Readonly<Record<string, unknown>> = Object.fromEntries(entries);
  const { groupCommit, queue, fencing, reentrant, restartGuard, clockWatch, owner, runtime, logger } =
    present;
  checkBoolean("groupCommit", groupCommit);
  checkBoolean("queue", queue);
  checkBoolean("fencing", fencing);
  if (reentrant !== "handle" && reentrant !== undefined && typeof reentrant !== "boolean") {
    throw new InvalidArgumentError(`reentrant must be true, false or "handle", but is ${shown(reentrant)}`);
  }
  if (restartGuard !== undefined) {
    const { durable } = partsOf("restartGuard", restartGuard, "an object such as { maxTtl: 60_000 }");
    if (typeof durable !== "function") checkBoolean("restartGuard.durable", durable);
  }
  if (clockWatch !== undefined && typeof clockWatch !== "boolean") {
    const { exclude } = partsOf(
      "clockWatch",
      clockWatch,
      "true, false or an object such as { exclude: true }",
    );
    checkBoolean("clockWatch.exclude", exclude);
  }
  const isName = typeof owner === "string" && owner.length > 0 && owner.length <= 100;
  if (owner !== undefined && owner !== false && !isName) {
    throw new InvalidArgumentError(
      `owner must be a name of 1 to 100 characters, or false, but is ${shown(owner)}`,
    );
  }
  if (logger !== undefined) checkMethods("logger", logger, ["info", "warn", "error"]);
  if (runtime !== undefined)
    checkMethods("runtime", runtime, ["monotonic", "wall", "randomBytes", "setTimer"]);
  return present as Partial<Options>;
}

function partsOf(
  name: "restartGuard" | "clockWatch",
  value: unknown,
  what: string,
): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError(`${name} must be ${what}, but is ${shown(value)}`);
  }
  checkOptions(value, name);
  return value as Readonly<Record<string, unknown>>;
}

function checkMethods(option: string, given: unknown, methods: readonly string[]): void {
  for (const method of methods) {
    const value = (given as Record<string, unknown> | null)?.[method];
    if (typeof value === "function") continue;
    const names = `${methods.slice(0, -1).join(", ")} and ${methods.at(-1)}`;
    throw new InvalidArgumentError(
      `${option} must have the methods ${names}, but its ${method} is ${shown(value)}`,
    );
  }
}

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
  const nearest = nearestTo(name, known);
  // An option of @sesamecare-oss/redlock.
  const hint = name === "db" ? "; locks are in the database of the clients that you pass" : "";
  if (nearest !== undefined) {
    return new InvalidArgumentError(`unknown option "${name}" of ${place}: did you mean "${nearest}"?`);
  }
  if (elsewhere) {
    return new InvalidArgumentError(`"${name}" is an option of ${elsewhere[0]}, not of ${place}`);
  }
  return new InvalidArgumentError(
    `unknown option ${shown(name)} of ${place}: it takes ${known.join(", ")}${hint}`,
  );
}

/** The known name with the most similar spelling, if it is similar enough to be meant. */
function nearestTo(name: string, known: readonly string[]): string | undefined {
  const distances = known.map((other) => ({ other, distance: distance(name, other) }));
  const [nearest] = distances.sort((a, b) => a.distance - b.distance);
  return nearest && nearest.distance <= Math.min(3, name.length / 3) ? nearest.other : undefined;
}

/** The edit distance, with transpositions (optimal string alignment), ignoring case. */
function distance(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row += 1) {
    const line = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const cost = a[row - 1] === b[column - 1] ? 0 : 1;
      let least = Math.min(
        line[column - 1]! + 1,
        rows[row - 1]![column]! + 1,
        rows[row - 1]![column - 1]! + cost,
      );
      const isExchanged =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isExchanged) least = Math.min(least, rows[row - 2]![column - 2]! + 1);
      line.push(least);
    }
    rows.push(line);
  }
  return rows[a.length]![b.length]!;
}
