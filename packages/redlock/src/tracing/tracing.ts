// The messages of the diagnostics channels, and where to listen. Published as the subpath `tracing`; docs/tracing.md describes it.
// No message holds a token, a queue entry or an inbox: whoever subscribes may write all of it to a log.

/** An `acquire`, `tryAcquire` or `using` from its call until it has the lock or has failed. */
export interface AcquireMessage {
  readonly resources: readonly string[];
  /** ms */
  readonly ttl: number;
  /** How often the call was refused and went on waiting. */
  waits: number;
  /**
   * Set at the end. `locked`: others held it. `no_quorum`: too few masters answered. `aborted`: the caller's signal, `quit`,
   * or an error in the caller's own code ended it.
   */
  outcome?: "acquired" | "locked" | "no_quorum" | "aborted";
  /** From the start to the end, ms. */
  duration?: number;
  /** The `code` of the error; only with `error`. */
  errorCode?: string;
}

/** A lock from its grant until it has ended; one that is resumed from its confirmation. Handles that share a lock by re-entry are one. */
export interface HoldMessage {
  readonly resources: readonly string[];
  /** ms */
  readonly ttl: number;
  /**
   * Set at the end. `lost`: against the holder's will. `expired`: nobody extended it any more, or it reached its
   * `maxHoldTime`. `detached`: another process may resume it.
   */
  outcome?: "released" | "lost" | "expired" | "detached";
  /** From the start to the end, ms. */
  duration?: number;
  /** `LOCK_LOST`, only with the outcome `lost`. */
  errorCode?: string;
}

/** An extension: one that `using` makes by itself, or a call of `extend`. */
export interface ExtendMessage {
  readonly resources: readonly string[];
  /** The requested time from now, ms. */
  readonly ttl: number;
  /** The message of the same lock on `quorlock:hold`, if somebody has listened there since its grant. */
  readonly hold: HoldMessage | undefined;
  outcome?: "extended" | "no_quorum" | "lost";
  /** The time that the lock had left when a quorum had confirmed the extension, ms. Near 0 the lock was almost lost. */
  margin?: number;
  duration?: number;
  errorCode?: string;
}

/** A release, from the call until a quorum has answered. */
export interface ReleaseMessage {
  readonly resources: readonly string[];
  /** As in `ExecutionResult`. */
  outcome?: "released" | "expired" | "partial" | "detached";
  duration?: number;
}

/** A lock has ended before its release. */
export interface LostMessage {
  readonly resources: readonly string[];
  /** As in `LockLostError`. */
  readonly reason: string;
  /** False if `quit` released it, or if it was left to expire. */
  readonly isFault: boolean;
}

/** Others hold a resource. */
export interface RefusedMessage {
  readonly resources: readonly string[];
  /** The resource that is held. */
  readonly resource: string;
  /** Whether the call goes on waiting; otherwise it fails. */
  readonly waits: boolean;
  /** The message of the same call on `quorlock:acquire`, if somebody listens there. */
  readonly call: AcquireMessage | undefined;
}

/** A master has answered one request of a round, or has let its time run out. */
export interface AnswerMessage {
  /** The master, as `host:port`. */
  readonly master: string;
  /** The kind of the request, such as `vote`, `extend` or `release`. */
  readonly operation: string;
  /** From the send to the answer, ms. */
  readonly duration: number;
  /** Why the master failed, as in `NodeErrorReason`; `undefined` if it answered. A refusal is an answer. */
  readonly errorReason: string | undefined;
}

/** The messages of each tracing channel. Its events are those of Node's `TracingChannel`, without a `result` or `error`. */
export interface TracedMessages {
  readonly acquire: AcquireMessage;
  readonly hold: HoldMessage;
  readonly extend: ExtendMessage;
  readonly release: ReleaseMessage;
}

/** The messages of each plain channel. */
export interface PlainMessages {
  readonly lost: LostMessage;
  readonly refused: RefusedMessage;
  readonly answer: AnswerMessage;
}

/** The names for `diagnostics_channel.tracingChannel`. */
export const tracingChannelNames: { readonly [name in keyof TracedMessages]: `quorlock:${name}` } = {
  acquire: "quorlock:acquire",
  hold: "quorlock:hold",
  extend: "quorlock:extend",
  release: "quorlock:release",
};

/** The names for `diagnostics_channel.subscribe`. */
export const channelNames: { readonly [name in keyof PlainMessages]: `quorlock:${name}` } = {
  lost: "quorlock:lost",
  refused: "quorlock:refused",
  answer: "quorlock:answer",
};
