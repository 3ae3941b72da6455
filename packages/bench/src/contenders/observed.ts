import { context, ROOT_CONTEXT } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import { register } from "@quorlock/opentelemetry";
import type { Contender, ContenderTerms, OpenContender } from "./contender.ts";

/** Keeps nothing: the cost of an exporter is not ours. */
class Nowhere extends InMemorySpanExporter {
  override export(...parameters: Parameters<InMemorySpanExporter["export"]>): void {
    super.export(...parameters);
    this.reset();
  }
}

export interface Observation {
  /** The part of the traces that is recorded. Default 0: no spans are made. */
  readonly spans?: number;
  readonly metrics?: boolean;
}

/**
 * Our client while the SDK of OpenTelemetry records it, as in production: spans are exported in batches, and the context
 * follows each call. It needs a process to itself, to which the channels and the context belong.
 */
export async function openObserved(
  open: OpenContender,
  { spans = 0, metrics = false }: Observation,
  name: string,
  terms: ContenderTerms,
): Promise<Contender> {
  const contender = await open(name, terms);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  // The first value in a context turns on what makes it follow each promise.
  context.with(ROOT_CONTEXT, () => {});
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new BatchSpanProcessor(new Nowhere())],
    sampler: new TraceIdRatioBasedSampler(spans),
  });
  const meterProvider = new MeterProvider({
    readers: [new PrometheusExporter({ preventServerStart: true })],
  });
  if (spans > 0 || metrics) {
    register({
      tracerProvider: spans > 0 && tracerProvider,
      meterProvider: metrics && meterProvider,
    });
  }
  return contender;
}
