import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** The real SDK, which exports into memory: for tests. */
export class Recorder {
  readonly #spans = new InMemorySpanExporter();
  readonly #metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // It exports when a test asks.
  readonly #reader = new PeriodicExportingMetricReader({
    exporter: this.#metrics,
    exportIntervalMillis: 3_600_000,
  });
  readonly tracerProvider: BasicTracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.#spans)],
  });
  readonly meterProvider: MeterProvider = new MeterProvider({ readers: [this.#reader] });

  constructor() {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  }

  get spans(): readonly ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  /** The spans of this name, in the order of their ends. */
  named(name: string): readonly ReadableSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  async metrics(): Promise<readonly MetricData[]> {
    this.#metrics.reset();
    await this.#reader.forceFlush();
    return this.#metrics
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  }

  /** The points of a metric: attributes, and its value or the number of measurements. */
  async points(name: string): Promise<ReadonlyArray<readonly [attributes: object, value: number]>> {
    const metric = (await this.metrics()).find(({ descriptor }) => descriptor.name === name);
    return (metric?.dataPoints ?? []).map(({ attributes, value }) => [
      attributes,
      typeof value === "number" ? value : (value as { readonly count: number }).count,
    ]);
  }

  /** Runs `work` in a span of an application, and resolves to the span's id. */
  async inside(work: () => Promise<unknown>): Promise<string> {
    const tracer = this.tracerProvider.getTracer("application");
    return tracer.startActiveSpan("application", async (span) => {
      await work();
      span.end();
      return span.spanContext().spanId;
    });
  }

  /** The id of the active span. */
  get active(): string | undefined {
    return trace.getActiveSpan()?.spanContext().spanId;
  }

  async stop(): Promise<void> {
    context.disable();
    await this.tracerProvider.shutdown();
    await this.meterProvider.shutdown();
  }
}
