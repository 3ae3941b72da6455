import type { Redlock5Class, Redlock5ExecutionError } from "@quorlock/peers";
import type { Runtime, Timer } from "@quorlock/redlock";
import type { Script } from "@quorlock/redlock/internal";

export interface Redlock5Module {
  readonly default: Redlock5Class;
  readonly ExecutionError: new (...args: never) => Redlock5ExecutionError;
  readonly ResourceLockedError: new (...args: never) => Error;
}

/** Loads a copy of the package for one process: everything it knows of time and chance is that process's. */
export type LoadRedlock5 = (runtime: Runtime) => Redlock5Module;

/** The names in the package's code that hide the real globals. */
export const parameters: readonly string[] = [
  "module",
  "exports",
  "require",
  "Date",
  "Math",
  "setTimeout",
  "clearTimeout",
];

/**
 * The published package, unchanged, as a function of its surroundings (`define`): the globals that it uses and `require` are
 * parameters.
 */
export function loading(
  define: (...surroundings: unknown[]) => unknown,
  modulesOf: (runtime: Runtime) => Readonly<Record<string, unknown>>,
): LoadRedlock5 {
  return (runtime) => {
    const module = { exports: {} };
    const modules = modulesOf(runtime);
    const require = (name: string): unknown => {
      if (name in modules) return modules[name];
      throw new Error(`redlock 5 requires "${name}", which the simulation does not give it`);
    };
    define(
      module,
      module.exports,
      require,
      { now: () => runtime.wall() },
      Object.assign(Object.create(Math), { random: () => fraction(runtime) }),
      (callback: () => void, delay: number) => runtime.setTimer(callback, nodeDelay(delay)),
      (timer: Timer) => timer.cancel(),
    );
    return module.exports as Redlock5Module;
  };
}

/** The scripts that its masters will receive, by its own names. */
export function scriptsOf(load: LoadRedlock5): ReadonlyMap<string, Script> {
  const { default: Redlock } = load(motionless);
  const { scripts } = new Redlock([{}]);
  return new Map(
    Object.entries(scripts).map(([name, { value, hash }]) => [name, { source: value, sha1: hash }]),
  );
}

/** For a copy that is only inspected. */
const motionless: Runtime = {
  monotonic: () => 0,
  wall: () => 0,
  randomBytes: (count) => new Uint8Array(count),
  setTimer: () => ({ cancel: () => {}, unref: () => {} }),
};

/** For jitter: uniform in [0, 1). */
function fraction(runtime: Runtime): number {
  return new DataView(runtime.randomBytes(4).buffer).getUint32(0) / 2 ** 32;
}

/** The delay that Node's setTimeout uses if it cannot keep the given one. */
function nodeDelay(delay: number): number {
  return delay >= 1 && delay <= 2_147_483_647 ? delay : 1;
}
