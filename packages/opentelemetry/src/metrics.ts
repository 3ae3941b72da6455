import type { Attributes, Histogram, Meter, ObservableResult } from "@opentelemetry/api";
import type { AcquireMessage, HoldMessage } from "@quorlock/redlock/tracing";
import { Listeners } from "./listeners.ts";
import type { ClassOf } from "./resource-class.ts";
import { Servers } from "./servers.ts";

// Advice for the upper limits of buckets, s. A view of the application replaces them.

/** From one round trip on a local network to a wait of some minutes. */
const acquireBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** From a few commands to a job of an hour. */
const holdBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];
/** The time that was left, up to the ttl: the low ones tell that locks were almost lost. */
const marginBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];
/** From a server in the same room to one that lets its time run out. */
const requestBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Records the metrics of all locks and masters. Returns a function that ends it. */
export function observeMetrics(meter: Meter, classOf: ClassOf): () => void {
  const listeners = new Listeners();
  const stopCounts = observeCounts(meter, listeners, classOf);
  observeDurations(meter, listeners, classOf);
  observeMasters(meter, listeners);
  return () => {
    listeners.stop();
    stopCounts();
  };
}

function histogram(meter: Meter, name: string, description: string, buckets: number[]): Histogram {
  return meter.createHistogram(name, {
    description,
    unit: "s",
    advice: { explicitBucketBoundaries: buckets },
  });
}

function observeDurations(meter: Meter, listeners: Listeners, classOf: ClassOf): void {
  const acquire = histogram(
    meter,
    "quorlock.client.acquire.duration",
    "From a call for a lock until it has the lock or has failed.",
    acquireBuckets,
  );
  listeners.traced("acquire", "asyncEnd", ({ duration = 0, outcome, resources }) => {
    acquire.record(duration / 1000, { outcome, ...classOf(resources) });
  });
  const hold = histogram(
    meter,
    "quorlock.client.hold.duration",
    "From the grant of a lock until it has ended.",
    holdBuckets,
  );
  listeners.traced("hold", "asyncEnd", ({ duration = 0, outcome, resources }) => {
    hold.record(duration / 1000, { outcome, ...classOf(resources) });
  });
  const margin = histogram(
    meter,
    "quorlock.client.renewal.margin",
    "Time that was left of a lock when its extension was confirmed.",
    marginBuckets,
  );
  listeners.traced("extend", "asyncEnd", (message) => {
    if (message.margin !== undefined) margin.record(message.margin / 1000, classOf(message.resources));
  });
}

/** The locks that are held, and the calls that wait, are counted when they are read: that costs a lock less than two additions. */
function observeCounts(meter: Meter, listeners: Listeners, classOf: ClassOf): () => void {
  const held = new Map<HoldMessage, Attributes>();
  const waiting = new Map<AcquireMessage, Attributes>();
  listeners.traced("hold", "start", (message) => void held.set(message, classOf(message.resources)));
  listeners.traced("hold", "asyncEnd", (message) => void held.delete(message));
  listeners.plain("refused", ({ waits, call }) => {
    // The first refusal makes a call a waiter.
    if (waits && call && !waiting.has(call)) waiting.set(call, classOf(call.resources));
  });
  listeners.traced("acquire", "asyncEnd", (message) => void waiting.delete(message));
  const stopHeld = observeSize(meter, "quorlock.client.locks", "The locks that are held.", "{lock}", held);
  const stopWaiting = observeSize(
    meter,
    "quorlock.client.waiters",
    "The calls that wait for a lock.",
    "{call}",
    waiting,
  );
  return () => {
    stopHeld();
    stopWaiting();
  };
}

function observeSize(
  meter: Meter,
  name: string,
  description: string,
  unit: string,
  entries: ReadonlyMap<object, Attributes>,
): () => void {
  const counter = meter.createObservableUpDownCounter(name, { description, unit });
  // A class that has no entry any more is told as 0 once it has been seen: otherwise its series would keep its last value.
  const counts = new Map<Attributes, number>();
  const observe = (result: ObservableResult): void => {
    for (const attributes of counts.keys()) counts.set(attributes, 0);
    for (const attributes of entries.values()) counts.set(attributes, (counts.get(attributes) ?? 0) + 1);
    for (const [attributes, count] of counts) result.observe(count, attributes);
    if (counts.size === 0) result.observe(0);
  };
  counter.addCallback(observe);
  return () => counter.removeCallback(observe);
}

/**
 * All operations that the client sends to a master in one turn are one request. Its operations are answered in one turn as well: those of one
 * kind are one measurement, the longest. One for each operation would take the SDK more time than the client takes for a lock.
 */
function observeMasters(meter: Meter, listeners: Listeners): void {
  const request = histogram(
    meter,
    "quorlock.master.request.duration",
    "From the send of a request to the answer of its master, or to the end of its time.",
    requestBuckets,
  );
  const servers = new Servers();
  const longest = new Map<Attributes, number>();
  const record = (): void => {
    for (const [attributes, duration] of longest) request.record(duration / 1000, attributes);
    longest.clear();
  };
  listeners.plain("answer", ({ master, operation, duration, errorReason }) => {
    if (longest.size === 0) queueMicrotask(record);
    const attributes = servers.attributesOf(master, operation, errorReason);
    longest.set(attributes, Math.max(duration, longest.get(attributes) ?? 0));
  });
}
