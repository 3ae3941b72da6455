import { type LockLostError, RedlockError, userName } from "../errors.ts";
import type { Runtime } from "../time/runtime.ts";
import {
  acquiring,
  answered,
  extending,
  finish,
  holding,
  lost,
  publish,
  refused,
  releasing,
  traced,
} from "./channels.ts";
import type { AcquireMessage, ExtendMessage, HoldMessage, ReleaseMessage } from "./tracing.ts";

// Each function is called only if its channel has a subscriber: nothing here is met otherwise.

type Time = Pick<Runtime, "monotonic">;

/** One client. */
interface Client {
  readonly runtime: Time;
  /** The messages of its leases whose hold is told. */
  readonly holds: WeakMap<object, HoldMessage>;
}

/** A result without a lock has the error. */
type Acquired =
  | { readonly lease: object }
  | { readonly lease?: undefined; readonly contended: boolean; readonly error: RedlockError };

/** A lease, as far as its end is told. */
interface Held {
  readonly resources: readonly string[];
  readonly ttl: number;
  readonly isDetached: boolean;
  readonly loss: { readonly isFault: boolean; readonly reason?: string | undefined } | undefined;
  remaining(): number;
  onEnd(listener: () => void): void;
}

/** The names as their user gave them: a key of this library has them in braces. */
function named(resources: readonly string[]): readonly string[] {
  return resources.map(userName);
}

function codeOf(error: unknown): string {
  return error instanceof RedlockError ? error.code : "OTHER";
}

/** `work` gets the message, in which a wait counts itself. */
export function traceAcquire<Result extends Acquired>(
  { resources, ttl }: Pick<Held, "resources" | "ttl">,
  time: Time,
  work: (call: AcquireMessage) => Promise<Result>,
): Promise<Result> {
  const message: AcquireMessage = { resources: named(resources), ttl, waits: 0 };
  const settle = (result: Result | undefined, error: unknown): void => {
    if (result?.lease) message.outcome = "acquired";
    else {
      const code = codeOf(result && !result.lease ? result.error : error);
      message.errorCode = code;
      message.outcome =
        code === "RESOURCE_LOCKED" ? "locked" : code === "NO_QUORUM" ? "no_quorum" : "aborted";
    }
  };
  return traced(acquiring, message, time, () => work(message), settle);
}

/** From now on until the lease ends. */
export function traceHold(lease: Held, { runtime, holds }: Client): void {
  // Two calls may have confirmed a lock that was resumed.
  if (holds.has(lease)) return;
  const message: HoldMessage = { resources: named(lease.resources), ttl: lease.ttl };
  const begun = runtime.monotonic();
  holds.set(lease, message);
  holding.start.runStores(message, () => holding.end.publish(message));
  lease.onEnd(() => {
    const { loss } = lease;
    message.duration = runtime.monotonic() - begun;
    if (loss?.isFault) message.errorCode = "LOCK_LOST";
    if (lease.isDetached) message.outcome = "detached";
    else if (loss === undefined || loss.reason === "QUIT") message.outcome = "released";
    else message.outcome = loss.isFault ? "lost" : "expired";
    finish(holding, message);
  });
}

export function traceExtend<Result>(
  lease: Held,
  ttl: number,
  { runtime, holds }: Client,
  work: () => Promise<Result>,
): Promise<Result> {
  const message: ExtendMessage = { resources: named(lease.resources), ttl, hold: holds.get(lease) };
  const left = lease.remaining();
  return traced(extending, message, runtime, work, (_, error) => {
    if (error === undefined) {
      message.outcome = "extended";
      // A lease that was resumed had nothing left that could be lost.
      if (left > 0) message.margin = Math.max(0, left - message.duration!);
    } else {
      message.errorCode = codeOf(error);
      message.outcome = message.errorCode === "LOCK_LOST" ? "lost" : "no_quorum";
    }
  });
}

export function traceRelease<
  Result extends { readonly outcome: Exclude<ReleaseMessage["outcome"], undefined> },
>({ resources }: Pick<Held, "resources">, time: Time, work: () => Promise<Result>): Promise<Result> {
  const message: ReleaseMessage = { resources: named(resources) };
  return traced(releasing, message, time, work, (result) => {
    if (result) message.outcome = result.outcome;
  });
}

export function traceAnswer(
  master: string,
  operation: string,
  duration: number,
  answer: { readonly is: string; readonly error?: { readonly reason: string } },
): void {
  publish(answered, { master, operation, duration, errorReason: answer.error?.reason });
}

/** `waits`: whether the call goes on. */
export function traceRefusal(
  { resources, call }: { readonly resources: readonly string[]; readonly call?: AcquireMessage },
  resource: string,
  waits: boolean,
): void {
  if (waits && call) call.waits += 1;
  publish(refused, { resources: named(resources), resource: userName(resource), waits, call });
}

export function traceLoss({ resources, reason, isFault }: LockLostError): void {
  publish(lost, { resources, reason: reason!, isFault });
}
