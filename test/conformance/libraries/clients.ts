import type { Locker } from "@quorlock/peers";
import type { Subject, SubjectOptions } from "./subject.ts";

/** The part of both generations of ioredis that is used here. */
interface Connecting {
  readonly status: string;
  once(event: "ready" | "error", listener: () => void): unknown;
  on(event: "error", listener: () => void): unknown;
  disconnect(): void;
}

/** Waits until each client is connected, or has failed to be once: what a service has when it begins to work. */
export async function connected<C extends Connecting>(clients: readonly C[]): Promise<readonly C[]> {
  await Promise.all(
    clients.map(async (client) => {
      // ioredis logs errors without a listener to the console; here a fault is part of the case.
      client.on("error", () => {});
      if (client.status === "ready") return;
      await new Promise<void>((resolve) => {
        client.once("ready", resolve);
        client.once("error", resolve);
      });
    }),
  );
  return clients;
}

/** Ends what is still connected: for a closed client ioredis would start a timer that outlives it by 2 s. */
export function cut(clients: readonly Connecting[]): void {
  for (const client of clients) if (client.status !== "end") client.disconnect();
}

/** The connection options of a service; both generations of ioredis take these. */
export function clientOptions({ database = 0, reconnectOnReadonly = false }: SubjectOptions): {
  readonly db: number;
  reconnectOnError(error: Error): boolean;
} {
  return {
    db: database,
    reconnectOnError: ({ message }) => reconnectOnReadonly && message.includes("READONLY"),
  };
}

interface Client extends Connecting {
  readonly options: object;
  select(database: number): Promise<unknown>;
  quit(): Promise<unknown>;
}

/** A library together with the clients that it was given. */
export function subjectOf(clients: readonly Client[], locker: Locker): Subject {
  return {
    clients,
    async select(database) {
      await Promise.all(clients.map((client) => client.select(database)));
    },
    onFault: () => {},
    async quit() {
      await Promise.all(clients.map((client) => client.quit()));
    },
    disconnect: () => cut(clients),
    ...locker,
  };
}
