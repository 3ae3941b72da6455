import type { Redis } from "ioredis";
import { closeClients, type OpenContender, openClients, untilAnswered } from "./contender.ts";

/**
 * The least that a hand-over between processes costs by publish and subscribe, without any lock: a message to the next
 * process on each master, which counts once a quorum of them has delivered it. No client can be faster. The first
 * process has the first turn.
 */
export const ring: OpenContender = async (name, { urls, ring: given }) => {
  const { place, size, channel } = given ?? { place: 0, size: 1, channel: `ring:${process.pid}` };
  const [clients, subscribers] = await Promise.all([openClients(urls), openClients(urls)]);
  const quorum = Math.floor(urls.length / 2) + 1;
  const next = `${channel}:${(place + 1) % size}`;
  /** The number of masters that have delivered each round, and the rounds that a quorum has. */
  const heard = new Map<string, number>();
  let round = 0;
  let granted: (() => void) | undefined;
  let isMine = place === 0;
  const onMessage = (_: string, message: string): void => {
    const count = (heard.get(message) ?? 0) + 1;
    if (count === urls.length) heard.delete(message);
    else heard.set(message, count);
    if (count !== quorum) return;
    round = Number(message);
    isMine = true;
    granted?.();
  };
  await Promise.all(
    subscribers.map((subscriber) => {
      subscriber.on("message", onMessage);
      return subscriber.subscribe(`${channel}:${place}`);
    }),
  );
  return {
    name,
    async acquire() {
      if (!isMine) await new Promise<void>((resolve) => (granted = resolve));
      isMine = false;
      return () => toAll(clients, (client) => client.publish(next, `${round + 1}`), quorum);
    },
    ready: () => untilAnswered(clients),
    async quit() {
      closeClients([...clients, ...subscribers]);
    },
  };
};

/** Resolves when `quorum` of them have answered. */
function toAll(
  clients: readonly Redis[],
  ask: (client: Redis) => Promise<unknown>,
  quorum: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let answers = 0;
    for (const client of clients) {
      ask(client).then(() => {
        answers += 1;
        if (answers === quorum) resolve();
      }, reject);
    }
  });
}
