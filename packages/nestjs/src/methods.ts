import { AsyncLocalStorage } from "node:async_hooks";
import { Inject } from "@nestjs/common";
import { type AcquireOptions, InvalidArgumentError, type Lock, type Redlock } from "@quorlock/redlock";
import { type OnceOptions, once } from "@quorlock/redlock/once";
import { redlockToken } from "./tokens.ts";

type Resources = string | readonly string[];
// biome-ignore lint/suspicious/noExplicitAny: the arguments of any method.
type Method<Args extends any[]> = (...args: Args) => Promise<any>;

/** A decorator of a method that returns a promise. */
// biome-ignore lint/suspicious/noExplicitAny: the arguments of any method.
export type MethodOfPromise<Args extends any[]> = <M extends Method<Args>>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

/** The lock that a method runs under. */
export interface Held {
  /** Aborts if the lock is lost. */
  readonly signal: AbortSignal;
  readonly lock: Lock;
}

/**
 * How a method acquires its lock: the options of `acquire`, but `retryCount` is 0 by default, so that a call without the
 * lock rejects at once. A `waitTimeout`, here or of the Redlock, makes it wait.
 */
export interface LockedOptions extends Omit<AcquireOptions, "parent"> {
  /** The name of the module's Redlock. Default: the one without a name. */
  readonly redlock?: string | undefined;
}

export interface OnceMethodOptions<Args extends unknown[]> extends Omit<OnceOptions, "at"> {
  /** The scheduled time, or a function of the arguments that returns it; see `once`. */
  readonly at?: OnceOptions["at"] | ((...args: Args) => Date | number) | undefined;
  /** The name of the module's Redlock. Default: the one without a name. */
  readonly redlock?: string | undefined;
}

const held = new AsyncLocalStorage<Held>();

/** The lock of the innermost method with `@Locked` or `@Once` that is running; `undefined` outside of these. */
export function heldLock(): Held | undefined {
  return held.getStore();
}

/**
 * Runs the method under the lock that `key` names: a name, a list of names, or a function of the arguments that returns
 * either. `ttl`: ms; the lock is kept extended until the promise of the method has settled. A call rejects with the errors
 * of `using`, and with a LockLostError if the lock is lost meanwhile, whatever the method returns.
 * @example
 * ```ts
 * @Locked((id: string) => `invoice:${id}`, 10_000)
 * async pay(id: string): Promise<void> {
 *   await charge(id, heldLock()?.signal);
 * }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: the arguments of any method.
export function Locked<Args extends any[]>(
  key: Resources | ((...args: Args) => Resources | Promise<Resources>),
  ttl: number,
  { redlock: name, ...options }: LockedOptions = {},
): MethodOfPromise<Args> {
  const settings = { ...options, retryCount: options.retryCount ?? 0 };
  return wrapped(name, async (redlock, args: Args, run) => {
    const resources = typeof key === "function" ? await key(...args) : key;
    return redlock.using(resources, ttl, settings, async (signal, lock) => {
      const value = await held.run({ signal, lock }, run);
      lock.signal.throwIfAborted();
      return value;
    });
  });
}

/**
 * Of all processes that call the method at a time, one runs it; the others resolve to `undefined`: see `once`, whose
 * options these are. `name`: that of the job, or a function of the arguments.
 * @example
 * ```ts
 * @Cron("0 3 * * *")
 * @Once("report", { keepFor: 3_600_000 })
 * async report(): Promise<void> {}
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: the arguments of any method.
export function Once<Args extends any[]>(
  name: string | ((...args: Args) => string),
  { redlock: redlockName, at, ...options }: OnceMethodOptions<Args>,
): MethodOfPromise<Args> {
  return wrapped(redlockName, async (redlock, args: Args, run) => {
    const job = typeof name === "function" ? name(...args) : name;
    const scheduled = typeof at === "function" ? at(...args) : at;
    const result = await once(redlock, job, { ...options, at: scheduled }, (signal, lock) =>
      held.run({ signal, lock }, run),
    );
    return result.ran ? result.value : undefined;
  });
}

/** The decorator that puts `around` between a method and its callers. The instance gets its Redlock from Nest. */
// biome-ignore lint/suspicious/noExplicitAny: the arguments of any method.
function wrapped<Args extends any[]>(
  name: string | undefined,
  around: (redlock: Redlock, args: Args, run: () => Promise<unknown>) => Promise<unknown>,
): MethodOfPromise<Args> {
  const place = Symbol.for(`quorlock.nestjs:${name ?? ""}`);
  return (target, property, descriptor) => {
    const method = descriptor.value;
    if (typeof method !== "function") {
      throw new InvalidArgumentError(`${String(property)} is no method: only a method runs under a lock`);
    }
    Inject(redlockToken(name))(target, place);
    const wrapper = async function (this: { [place]?: Redlock }, ...args: Args): Promise<unknown> {
      const redlock = this[place];
      if (!redlock) {
        const which = name === undefined ? "" : ` { name: ${JSON.stringify(name)} }`;
        throw new InvalidArgumentError(
          `${target.constructor.name} has no Redlock: Nest has to make it, where RedlockModule${which} is imported or global`,
        );
      }
      return around(redlock, args, () => method.apply(this, args));
    };
    copyIdentity(method, wrapper);
    descriptor.value = wrapper as typeof method;
  };
}

/** Decorators below, such as `@Cron` and `@Get`, leave their metadata on the method. */
function copyIdentity(from: object, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from)) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, from), to);
  }
  Object.defineProperties(to, Object.getOwnPropertyDescriptors(from));
}
