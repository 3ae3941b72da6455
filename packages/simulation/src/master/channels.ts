import { matchesGlob } from "./glob.ts";

/** A subscriber. A published message goes out to it at once, in the middle of the command. */
export interface Subscriber {
  /** `pattern`: where it has not subscribed to the channel itself. */
  push(channel: string, message: string, pattern?: string): void;
}

/** Subscribers by channel, or by pattern. */
type Subscribers = Map<string, Set<Subscriber>>;

/** The listeners of each channel of one master. They do not survive the process, and are never on a disk. */
export class Channels {
  readonly #channels: Subscribers = new Map();
  readonly #patterns: Subscribers = new Map();

  subscribe(channel: string, subscriber: Subscriber): void {
    add(this.#channels, channel, subscriber);
  }

  unsubscribe(channel: string, subscriber: Subscriber): void {
    remove(this.#channels, channel, subscriber);
  }

  subscribeToPattern(pattern: string, subscriber: Subscriber): void {
    add(this.#patterns, pattern, subscriber);
  }

  unsubscribeFromPattern(pattern: string, subscriber: Subscriber): void {
    remove(this.#patterns, pattern, subscriber);
  }

  /** Its connection is gone. */
  forget(subscriber: Subscriber): void {
    for (const subscribers of [this.#channels, this.#patterns])
      for (const name of [...subscribers.keys()]) remove(subscribers, name, subscriber);
  }

  /** How many listen to the channel itself: PUBSUB NUMSUB counts no patterns. */
  count(channel: string): number {
    return this.#channels.get(channel)?.size ?? 0;
  }

  /** The number of subscriptions it was sent to, patterns included. A message that was sent may not arrive. */
  publish(channel: string, message: string): number {
    const subscribers = [...(this.#channels.get(channel) ?? [])];
    for (const subscriber of subscribers) subscriber.push(channel, message);
    let count = subscribers.length;
    for (const [pattern, matched] of [...this.#patterns]) {
      if (!matchesGlob(pattern, channel)) continue;
      for (const subscriber of [...matched]) subscriber.push(channel, message, pattern);
      count += matched.size;
    }
    return count;
  }

  /** The process has ended, and every connection with it. */
  clear(): void {
    this.#channels.clear();
    this.#patterns.clear();
  }
}

function add(all: Subscribers, name: string, subscriber: Subscriber): void {
  const subscribers = all.get(name);
  if (subscribers) subscribers.add(subscriber);
  else all.set(name, new Set([subscriber]));
}

function remove(all: Subscribers, name: string, subscriber: Subscriber): void {
  const subscribers = all.get(name);
  if (subscribers?.delete(subscriber) && subscribers.size === 0) all.delete(name);
}
