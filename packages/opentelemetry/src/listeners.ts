import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  channelNames,
  type PlainMessages,
  type TracedMessages,
  tracingChannelNames,
} from "@quorlock/redlock/tracing";

/** Listeners on the channels of the client. */
export class Listeners {
  readonly #undo: Array<() => void> = [];

  /** At a `start` or an `asyncEnd`. A span must not end at `end`, which comes before the result, and before `error`. */
  traced<Name extends keyof TracedMessages>(
    name: Name,
    event: "start" | "asyncEnd",
    listener: (message: TracedMessages[Name]) => void,
  ): void {
    this.#listen(`tracing:${tracingChannelNames[name]}:${event}`, listener as Listener);
  }

  plain<Name extends keyof PlainMessages>(
    name: Name,
    listener: (message: PlainMessages[Name]) => void,
  ): void {
    this.#listen(channelNames[name], listener as Listener);
  }

  stop(): void {
    for (const one of this.#undo.splice(0)) one();
  }

  #listen(channel: string, listener: Listener): void {
    subscribe(channel, listener);
    this.#undo.push(() => void unsubscribe(channel, listener));
  }
}

type Listener = (message: unknown) => void;
