import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";

/** Metrics that a Prometheus can scrape on loopback: for tests. */
export interface Scraped extends AsyncDisposable {
  readonly meterProvider: MeterProvider;
  /** `host:port` */
  readonly target: string;
  /** The text of one scrape. */
  scrape(): Promise<string>;
}

export async function startScraped(): Promise<Scraped> {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  const server = createServer((request, response) => exporter.getMetricsRequestHandler(request, response));
  // The exporter's own server takes no free port.
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    meterProvider,
    target,
    scrape: async () => (await fetch(`http://${target}/metrics`)).text(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await meterProvider.shutdown();
    },
  };
}
