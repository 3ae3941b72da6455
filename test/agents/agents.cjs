// Each agent, set up as its users do: before a client library is loaded. `run` is what it watches, `told` all that it has recorded.

const { createServer } = require("node:http");

/** Nobody listens there. */
const nowhere = "http://127.0.0.1:9";

async function opentelemetry() {
  const sdk = require("@opentelemetry/sdk-trace-base");
  const { IORedisInstrumentation } = require("@opentelemetry/instrumentation-ioredis");
  const { RedisInstrumentation } = require("@opentelemetry/instrumentation-redis");
  const exporter = new sdk.InMemorySpanExporter();
  const provider = new sdk.BasicTracerProvider({ spanProcessors: [new sdk.SimpleSpanProcessor(exporter)] });
  for (const Instrumentation of [IORedisInstrumentation, RedisInstrumentation])
    new Instrumentation({ requireParentSpan: false }).setTracerProvider(provider);
  return { run: (act) => act(), told: async () => exporter.getFinishedSpans().map(asShown) };
}

const asShown = ({ name, attributes, events, status }) => ({ name, attributes, events, status });

/** What it sends to its collector, as it sends it. */
async function ddTrace() {
  const bodies = [];
  let receive;
  const collector = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(Buffer.concat(chunks).toString("latin1"));
      response.end("{}");
      receive?.();
    });
  });
  await new Promise((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${collector.address().port}`;
  const tracer = require("dd-trace").init({
    url,
    startupLogs: false,
    flushInterval: 50,
    telemetry: { enabled: false },
  });
  const last = "the last span of all";
  const told = async () => {
    const isOver = new Promise((resolve) => {
      receive = () => bodies.some((body) => body.includes(last)) && resolve();
    });
    tracer.trace(last, () => {});
    await isOver;
    return bodies;
  };
  return { run: (act) => tracer.trace("test", act), told };
}

async function newrelic() {
  const names = {
    NO_CONFIG_FILE: true,
    APP_NAME: "test",
    LICENSE_KEY: "0".repeat(40),
    HOST: "127.0.0.1",
    PORT: 9,
    LOG_ENABLED: false,
  };
  for (const [name, value] of Object.entries(names)) process.env[`NEW_RELIC_${name}`] = String(value);
  const api = require("newrelic");
  const told = [];
  api.agent.on("transactionFinished", ({ trace }) => {
    const visit = (segment) => {
      told.push(segment.name, segment.getAttributes());
      for (const child of trace.getChildren(segment.id)) visit(child);
    };
    visit(trace.root);
  });
  return { run: (act) => api.startBackgroundTransaction("test", act), told: async () => told };
}

async function elastic() {
  const told = [];
  const send = (one, done) => {
    told.push(one);
    done?.();
  };
  const transport = {
    ...{
      config() {},
      addMetadataFilter() {},
      setExtraMetadata() {},
      lambdaStart() {},
      sendMetricSet() {},
      destroy() {},
    },
    ...{
      sendSpan: send,
      sendTransaction: send,
      sendError: send,
      supportsKeepingUnsampledTransaction: () => false,
    },
    flush: (options, done = options) => done(),
  };
  const quiet = {
    logLevel: "off",
    serverUrl: nowhere,
    centralConfig: false,
    cloudProvider: "none",
    metricsInterval: "0s",
  };
  const all = { exitSpanMinDuration: "0ms", spanCompressionEnabled: false };
  const agent = require("elastic-apm-node").start({ ...quiet, ...all, transport: () => transport });
  const run = async (act) => {
    const transaction = agent.startTransaction("test");
    await act();
    transaction.end();
  };
  return { run, told: () => new Promise((resolve) => agent.flush(() => resolve(told))) };
}

async function sentry() {
  const api = require("@sentry/node");
  const told = [];
  const send = async (envelope) => {
    told.push(envelope);
    return {};
  };
  const transport = { send, flush: async () => true };
  const dsn = nowhere.replace("//", "//key@");
  api.init({ dsn: `${dsn}/1`, tracesSampleRate: 1, sendDefaultPii: true, transport: () => transport });
  const flushed = async () => {
    await api.flush();
    return told;
  };
  return { run: (act) => api.startSpan({ name: "test" }, act), told: flushed };
}

module.exports = {
  opentelemetry,
  "dd-trace": ddTrace,
  newrelic,
  "elastic-apm-node": elastic,
  "@sentry/node": sentry,
};
