import { type MeterProvider, metrics, type TracerProvider, trace } from "@opentelemetry/api";
import { observeMetrics } from "./metrics.ts";
import { classBy, type ResourceClass } from "./resource-class.ts";
import { observeSpans } from "./spans.ts";

export interface RegisterOptions {
  /** Where spans go; `false`: no spans. Default: the global provider. */
  readonly tracerProvider?: TracerProvider | false | undefined;
  /** Where metrics go; `false`: no metrics. Default: the global provider. */
  readonly meterProvider?: MeterProvider | false | undefined;
  /**
   * Returns the class of a lock, such as `"invoice"` for `["invoice:42"]`: the attribute `quorlock.resource.class` of its spans
   * and metrics. There must be few classes, since each makes a series of every metric. Default: no class; the resources
   * themselves are in no span and in no metric.
   */
  readonly resourceClass?: ResourceClass | undefined;
}

const scope = "@quorlock/opentelemetry";

/** One for the process, even if it loads this module as an ES module and as CommonJS. */
const registered = Symbol.for("quorlock.opentelemetry");
const shared = globalThis as { [registered]?: boolean };

/**
 * Records spans and metrics of all locks of this process from now on. The channels of the client belong to the process: so
 * there is one registration for all Redlocks.
 * @returns a function that ends it. Spans that have not ended by then are not exported.
 * @throws Error if there is a registration already: each lock would count twice.
 * @example
 * ```ts
 * const stop = register({ resourceClass: ([resource]) => resource?.split(":")[0] });
 * ```
 */
export function register(options: RegisterOptions = {}): () => void {
  if (shared[registered]) throw new Error("register() was called before, and its registration has not ended");
  const { tracerProvider = trace, meterProvider = metrics } = options;
  const classOf = classBy(options.resourceClass);
  const undo: Array<() => void> = [];
  if (tracerProvider) undo.push(observeSpans(tracerProvider.getTracer(scope), classOf));
  if (meterProvider) undo.push(observeMetrics(meterProvider.getMeter(scope), classOf));
  shared[registered] = true;
  return () => {
    if (undo.length > 0) shared[registered] = false;
    for (const one of undo.splice(0)) one();
  };
}
