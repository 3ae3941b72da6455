import * as v from "valibot";
import { type Fault, faultFields, faultNames, moments } from "./fault.ts";
import { fields } from "./fault-fields.ts";
import { type Plan, type Style, styles } from "./plan.ts";
import { atLeast, longest, number, offset, positive, rate, share, span, whole } from "./values.ts";

// The shape of a plan, field by field, for plans that come from files. Unknown fields are refused as well: a
// misspelt one would silently do nothing.

const clock = { offset, rate };

const latency = v.variant("shape", [
  v.strictObject({ shape: v.literal("constant"), ms: span }),
  v.pipe(
    v.strictObject({ shape: v.literal("uniform"), from: span, to: span }),
    v.check(({ from, to }) => from <= to, "`from` must not be above `to`"),
  ),
  v.strictObject({ shape: v.literal("log-normal"), median: span, sigma: span }),
  v.strictObject({ shape: v.literal("two-peaks"), fast: span, slow: span, slowShare: share }),
]);

const persistence = v.variant("mode", [
  v.strictObject({ mode: v.literal("none") }),
  v.strictObject({ mode: v.literal("rdb"), interval: positive }),
  v.strictObject({ mode: v.literal("aof-everysec") }),
  v.strictObject({ mode: v.literal("aof-always") }),
]);

const forbids = v.exactOptional(v.array(v.picklist(["SUBSCRIBE", "PUBLISH", "PUBSUB"])));
const sameAs = v.exactOptional(whole(0));
const isCluster = v.exactOptional(v.boolean());
const listeners = v.exactOptional(v.array(v.picklist(["pattern", "channels"])));

const weights = v.pipe(
  v.strictObject(
    Object.fromEntries(styles.map((style) => [style, v.exactOptional(atLeast(0))])) as StyleEntries,
  ),
  v.check((weights) => Object.values(weights).some((weight) => weight > 0), "all styles have weight 0"),
);

type StyleEntries = Record<Style, v.ExactOptionalSchema<ReturnType<typeof atLeast>, undefined>>;

const task = v.strictObject({
  do: v.picklist(styles),
  resource: whole(0),
  at: span,
  hold: v.exactOptional(span),
  looks: v.exactOptional(whole(1)),
});

const call = v.strictObject({
  ttl: v.exactOptional(whole(1)),
  nodeTimeout: v.exactOptional(positive),
  retryCount: v.exactOptional(whole(0)),
  retryDelay: v.exactOptional(span),
  retryJitter: v.exactOptional(span),
  waitTimeout: v.exactOptional(span),
  minimumValidity: v.exactOptional(span),
  backoff: v.exactOptional(
    v.strictObject({ initial: span, maximum: span, throwsFrom: v.exactOptional(whole(1)) }),
  ),
});

const at = { at: span };
const on = {
  on: v.picklist(moments),
  occurrence: whole(1),
  client: v.exactOptional(whole(0)),
  master: v.exactOptional(whole(0)),
  after: v.exactOptional(span),
};

const faultSchema = v.lazy((input) =>
  typeof input === "object" && input !== null && "on" in input ? faultsWith(on) : faultsWith(at),
) as unknown as v.GenericSchema<unknown, Fault>;

function faultsWith(when: typeof at | typeof on) {
  const kinds = faultNames.map((kind) => {
    const its = faultFields[kind].map((name): [string, v.GenericSchema] => {
      const { is, isOptional } = fields[name];
      return [name, isOptional ? v.exactOptional(is) : is];
    });
    return v.strictObject({ kind: v.literal(kind), ...when, ...Object.fromEntries(its) });
  });
  return v.variant("kind", kinds);
}

export const planSchema: v.GenericSchema<unknown, Plan> = v.strictObject({
  version: v.literal(1),
  seed: whole(0),
  duration: positive,
  masters: v.pipe(
    v.array(v.strictObject({ ...clock, persistence, forbids, listeners, sameAs, isCluster })),
    v.minLength(1),
  ),
  clients: v.pipe(
    v.array(
      v.strictObject({
        ...clock,
        timerLateness: span,
        isForeign: v.exactOptional(v.boolean()),
        startsAt: v.exactOptional(span),
        masters: v.exactOptional(v.pipe(v.array(whole(0)), v.minLength(1))),
        endsAt: v.exactOptional(positive),
      }),
    ),
    v.minLength(1),
  ),
  network: v.strictObject({
    latency,
    longestLatency: positive,
    reconnectDelay: span,
    oneName: v.exactOptional(v.string()),
  }),
  settings: v.strictObject({
    ttl: v.pipe(whole(1), v.maxValue(longest)),
    driftFactor: v.pipe(number, v.minValue(0), v.ltValue(1)),
    nodeTimeout: v.exactOptional(positive),
    retryCount: whole(0),
    retryDelay: span,
    retryJitter: span,
    waitTimeout: v.exactOptional(span),
    automaticExtensionThreshold: span,
    queue: v.exactOptional(v.boolean()),
    fencing: v.exactOptional(v.boolean()),
    acquireConcurrency: v.exactOptional(whole(1)),
    groupCommit: v.exactOptional(v.boolean()),
    restartGuard: v.exactOptional(
      v.strictObject({ maxTtl: whole(1), durable: v.exactOptional(v.boolean()) }),
    ),
    clockWatch: v.exactOptional(
      v.strictObject({ maxOffset: v.exactOptional(atLeast(0)), exclude: v.exactOptional(v.boolean()) }),
    ),
  }),
  workload: v.strictObject({
    resources: whole(1),
    hold: span,
    think: span,
    parallel: v.exactOptional(v.pipe(whole(1), v.maxValue(64))),
    redlocks: v.exactOptional(v.pipe(whole(1), v.maxValue(64))),
    several: v.exactOptional(v.pipe(whole(2), v.maxValue(1000))),
    calls: v.exactOptional(v.pipe(v.array(call), v.minLength(1))),
    lists: v.exactOptional(v.pipe(v.array(v.pipe(v.array(whole(0)), v.minLength(1))), v.minLength(1))),
    styles: weights,
    script: v.exactOptional(v.array(v.array(task))),
  }),
  faults: v.array(faultSchema),
});
