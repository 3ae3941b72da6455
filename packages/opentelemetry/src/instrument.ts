import { context, createContextKey, type Span, trace } from "@opentelemetry/api";

/** A Redlock, or a primitive that has a `using` as well. */
export interface Instrumentable {
  // biome-ignore lint/suspicious/noExplicitAny: the method has overloads, and a type of parameters would choose one.
  using: (...parameters: any[]) => Promise<unknown>;
}

/** Where the span of a hold is left for the routine that runs under it. */
interface Place {
  span?: Span;
}

const placeKey = createContextKey("quorlock.hold");

/** Leaves the span of a hold to the `using` that the lock was acquired for, if there is one. */
export function leaveToRoutine(span: Span): void {
  const place = context.active().getValue(placeKey) as Place | undefined;
  if (place) place.span ??= span;
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
  const using = (...parameters: unknown[]): Promise<unknown> => {
    const place: Place = {};
    const inside = parameters.map((parameter) =>
      typeof parameter === "function" ? within(place, parameter as Routine) : parameter,
    );
    const waiting = context.active().setValue(placeKey, place);
    return context.with(waiting, () => original.apply(redlock, inside));
  };
  Object.defineProperty(redlock, "using", { value: using, configurable: true, writable: true });
  return () => {
    if (own) Object.defineProperty(redlock, "using", own);
    else Reflect.deleteProperty(redlock, "using");
  };
}

type Routine = (...parameters: unknown[]) => unknown;

function within(place: Place, routine: Routine): Routine {
  return (...parameters) => {
    const active = context.active();
    const { span } = place;
    return context.with(span ? trace.setSpan(active, span) : active, () => routine(...parameters));
  };
}
