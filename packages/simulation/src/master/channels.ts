import { matchesGlob } from "./glob.ts";

/** A subscriber. A published message goes out to it at once, in the middle of the command. */
export interface Subscriber {
  /** `pattern`: where it has not subscribed to the channel itself. */
  push(channel: string, message: string, pattern?: string): void;
}

/** Subscribers by channel, or by pattern. */
type Subscribers = Map<string, Set<Subscriber>>;

type Kind = "channel" | "pattern";

/** The listeners of each channel of one master. They do not survive the process, and are never on a disk. */
export class Channels {
  readonly #all: Readonly<Record<Kind, Subscribers>> = { channel: new Map(), pattern: new Map() };

  /** `kind`: whether `name` is a pattern for channels. */
  subscribe(name: string, subscriber: Subscriber, kind: Kind = "channel"): void {
    const all = this.#all[kind];
    const subscribers = all.get(name);
    if (subscribers) subscribers.add(subscriber);
    else all.set(name, new Set([subscriber]));
  }

  unsubscribe(name: string, subscriber: Subscriber, kind: Kind = "channel"): void {
    const all = this.#all[kind];
    const subscribers = all.get(name);
    if (subscribers?.delete(subscriber) && subscribers.size === 0) all.delete(name);
  }

  /** Its connection is gone. */
  forget(subscriber: Subscriber): void {
    for (const kind of ["channel", "pattern"] as const)
      for (const name of [...this.#all[kind].keys()]) this.unsubscribe(name, subscriber, kind);
  }

  /** How many listen to the channel itself: PUBSUB NUMSUB counts no patterns. */
  count(channel: string): number {
    return this.#all.channel.get(channel)?.size ?? 0;
  }

  /** The number of subscriptions it was sent to, patterns included. A message that was sent may not arrive. */
  publish(channel: string, message: string): number {
    const subscribers = [...(this.#all.channel.get(channel) ?? [])];
    for (const subscriber of subscribers) subscriber.push(channel, message);
    let count = subscribers.length;
    for (const [pattern, matched] of [...this.#all.pattern]) {
      if (!matchesGlob(pattern, channel)) continue;
      for (const subscriber of [...matched]) subscriber.push(channel, message, pattern);
      count += matched.size;
    }
    return count;
  }

  /** The process has ended, and every connection with it. */
  clear(): void {
    for (const all of Object.values(this.#all)) all.clear();
  }
}
