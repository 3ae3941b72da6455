import type { Settings } from "../settings/settings.ts";
import type { AcquireMessage } from "../tracing/tracing.ts";

/** A lock on all of the resources, or none, for `ttl` ms. */
export interface LockRequest {
  readonly resources: readonly string[];
  readonly ttl: number;
  readonly settings: Settings;
  /** Whether others may hold the resources as well if they ask for the same. */
  readonly isShared?: boolean;
  /** No master votes that has a holder of this key: earlier callers wait there. */
  readonly unless?: string | undefined;
  /** A waiter asks the masters again after this time at the earliest, ms. */
  readonly minHeartbeat?: number;
  /** The message of the call, while somebody listens to `quorlock:acquire`. */
  readonly call?: AcquireMessage;
  /** Left on the masters while the claim retries without a queue. */
  readonly mark?: Mark;
}

/** Keeps later claims out of the resources between two attempts. */
export interface Mark {
  /** Others hold the resources, and another attempt follows. */
  keep(): void;
  remove(): void;
}
