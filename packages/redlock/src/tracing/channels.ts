import { outside } from "../time/async-context.ts";
import type { Runtime } from "../time/runtime.ts";
import { channelNames, type PlainMessages, type TracedMessages, tracingChannelNames } from "./tracing.ts";

/** A channel of `node:diagnostics_channel`, as far as it is used. */
interface Channel<Message> {
  readonly hasSubscribers: boolean;
  publish(message: Message): void;
  runStores<R>(message: Message, callback: () => R): R;
}

type Tracing<Message> = Pick<Channel<Message>, "hasSubscribers"> &
  Readonly<Record<"start" | "end" | "asyncStart" | "asyncEnd" | "error", Channel<Message>>>;

const diagnostics = process.getBuiltinModule("node:diagnostics_channel");

// Found by name: a second copy of this package publishes on the same channels.

function channel<Name extends keyof PlainMessages>(name: Name): Channel<PlainMessages[Name]> {
  return diagnostics.channel(channelNames[name]);
}

function tracing<Name extends keyof TracedMessages>(name: Name): Tracing<TracedMessages[Name]> {
  return diagnostics.tracingChannel(tracingChannelNames[name]);
}

// The reading of `hasSubscribers` is all that a lock costs here without a subscriber.
export const acquiring: Tracing<TracedMessages["acquire"]> = tracing("acquire");
export const holding: Tracing<TracedMessages["hold"]> = tracing("hold");
export const extending: Tracing<TracedMessages["extend"]> = tracing("extend");
export const releasing: Tracing<TracedMessages["release"]> = tracing("release");
export const lost: Channel<PlainMessages["lost"]> = channel("lost");
export const refused: Channel<PlainMessages["refused"]> = channel("refused");
export const answered: Channel<PlainMessages["answer"]> = channel("answer");

/** Publishes from a timer or a socket, which may run in a routine of another call (PROTOCOL 10.7). */
export function publish<Message>(to: Channel<Message>, message: Message): void {
  outside(() => to.publish(message));
}

/** Publishes the end of something that goes on in the background. Its message has an `errorCode` if it failed. */
export function finish<Message extends object>(to: Tracing<Message>, message: Message): void {
  outside(() => {
    if ("errorCode" in message) to.error.publish(message);
    to.asyncStart.publish(message);
    to.asyncEnd.publish(message);
  });
}

/**
 * Runs `work` between the events of a tracing channel, with its stores. Unlike `tracePromise` it publishes neither the
 * result nor the error, which lead to tokens and to clients with their passwords: `settle` writes what may be known.
 */
export function traced<Message extends { duration?: number }, Result>(
  to: Tracing<Message>,
  message: Message,
  time: Pick<Runtime, "monotonic">,
  work: () => Promise<Result>,
  settle: (result: Result | undefined, error: unknown) => void,
): Promise<Result> {
  const begun = time.monotonic();
  const over = (result: Result | undefined, error: unknown): void => {
    message.duration = time.monotonic() - begun;
    settle(result, error);
    finish(to, message);
  };
  return to.start.runStores(message, () => {
    const result = work();
    to.end.publish(message);
    result.then(
      (value) => over(value, undefined),
      (error: unknown) => over(undefined, error),
    );
    return result;
  });
}
