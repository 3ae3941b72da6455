import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter } from "@opentelemetry/sdk-trace-base";
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
  readonly spans: boolean;
  readonly metrics: boolean;
}

/** Our client while the SDK of OpenTelemetry records it, as in production: every span sampled, exported in batches. */
export async function openObserved(
  open: OpenContender,
  { spans, metrics }: Observation,
  name: string,
  terms: ContenderTerms,
): Promise<Contender> {
  const contender = await open(name, terms);
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(new Nowhere())] });
  const meterProvider = new MeterProvider({
    readers: [new PrometheusExporter({ preventServerStart: true })],
  });
  return {
    ...contender,
    // The channels and the context belong to the process, in which other contenders take their turns as well.
    beginTurn() {
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
      const stop = register({
        tracerProvider: spans && tracerProvider,
        meterProvider: metrics && meterProvider,
      });
      return () => {
        stop();
        context.disable();
      };
    },
    async quit() {
      await contender.quit();
      await tracerProvider.shutdown();
      await meterProvider.shutdown();
    },
  };
}
