import { context, createContextKey, type Span, trace } from "@opentelemetry/api";

/** A Redlock, or a primitive that has a `using` as well. */
export interface Instrumentable {
  // biome-ignore lint/suspicious/noExplicitAny: the method has overloads, and a type of parameters would choose one.
  using: (...parameters: any[]) => Promise<unknown>;
}

/** Where the spans of holds are left for the routine of one call of `using`. */
interface Place {
  /** The holds that last, in the order of their grants; `undefined` from the beginning of the routine on. */
  spans: readonly Span[] | undefined;
  /** The place of the call that makes this one, such as the `using` of a semaphore whose Redlock is instrumented as well. */
  readonly outer: Place | undefined;
}

const placeKey = createContextKey("quorlock.hold");

/** The innermost call of `using` here whose routine has not begun. */
function waitingPlace(): Place | undefined {
  let place = context.active().getValue(placeKey) as Place | undefined;
  while (place && !place.spans) place = place.outer;
  return place;
}

/** Leaves the span of a hold to the calls of `using` that the lock is acquired for. */
export function leaveToRoutine(span: Span): void {
  for (let place = waitingPlace(); place; place = place.outer)
    place.spans = place.spans && [...place.spans.filter((other) => other.isRecording()), span];
}

/**
 * Lets the routines of `redlock.using` run inside the span of their lock, so that spans which they start are its children. A
 * channel cannot activate a span for code that runs later. Without `register` and a context manager it changes nothing.
 * @returns a function that undoes it.
 * @example
 * ```ts
 * instrument(redlock);
 * await redlock.using("invoice:42", 5_000, () => pay()); // the spans of `pay` are children of "quorlock hold"
 * ```
 */
export function instrument(redlock: Instrumentable): () => void {
  const own = Object.getOwnPropertyDescriptor(redlock, "using");
  const original = redlock.using;
  let isUndone = false;
  const using = (...parameters: unknown[]): Promise<unknown> => {
    if (isUndone) return original.apply(redlock, parameters);
    const place: Place = { spans: [], outer: waitingPlace() };
    const inside = parameters.map((parameter) =>
      typeof parameter === "function" ? within(place, parameter as Routine) : parameter,
    );
    const waiting = context.active().setValue(placeKey, place);
    return context.with(waiting, () => original.apply(redlock, inside));
  };
  Object.defineProperty(redlock, "using", { value: using, configurable: true, writable: true });
  return () => {
    isUndone = true;
    // Another one, around it, calls it still.
    if (redlock.using !== using) return;
    if (own) Object.defineProperty(redlock, "using", own);
    else Reflect.deleteProperty(redlock, "using");
  };
}

type Routine = (...parameters: unknown[]) => unknown;

function within(place: Place, routine: Routine): Routine {
  return (...parameters) => {
    const active = context.active();
    // A semaphore waits under the lock that orders its waiters, and may be granted slots that it gives back: the latest
    // hold that lasts is that of the permit.
    const span = place.spans?.findLast((other) => other.isRecording()) ?? place.spans?.at(-1);
    place.spans = undefined;
    return context.with(span ? trace.setSpan(active, span) : active, () => routine(...parameters));
  };
}
