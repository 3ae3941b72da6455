/** Somebody who has subscribed: what is published goes out to it at once, in the middle of the command. */
export interface Subscriber {
  push(channel: string, message: string): void;
}

/** Who listens to what on one master. Nothing of it survives the process, or is ever on a disk. */
export class Channels {
  readonly #subscribers = new Map<string, Set<Subscriber>>();

  subscribe(channel: string, subscriber: Subscriber): void {
    const subscribers = this.#subscribers.get(channel);
    if (subscribers) subscribers.add(subscriber);
    else this.#subscribers.set(channel, new Set([subscriber]));
  }

  unsubscribe(channel: string, subscriber: Subscriber): void {
    const subscribers = this.#subscribers.get(channel);
    if (subscribers?.delete(subscriber) && subscribers.size === 0) this.#subscribers.delete(channel);
  }

  /** Its connection is gone. */
  forget(subscriber: Subscriber): void {
    for (const channel of [...this.#subscribers.keys()]) this.unsubscribe(channel, subscriber);
  }

  count(channel: string): number {
    return this.#subscribers.get(channel)?.size ?? 0;
  }

  /** To how many it went. That it arrives is not said. */
  publish(channel: string, message: string): number {
    const subscribers = this.#subscribers.get(channel);
    if (!subscribers) return 0;
    for (const subscriber of [...subscribers]) subscriber.push(channel, message);
    return subscribers.size;
  }

  /** The process has ended, and every connection with it. */
  clear(): void {
    this.#subscribers.clear();
  }
}
