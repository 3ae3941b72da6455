import { type WallClock, wallClockOf } from "../processes/process-clock.ts";
import type { SubjectOptions } from "./subject.ts";

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

/** The calls of a subject that concern its clients alone, for libraries that have none of their own for them. */
export class ClientsOf<C extends Client> {
  readonly clients: readonly C[];
  readonly #wallClock: WallClock;

  constructor(clients: readonly C[], wallClock?: () => number) {
    this.clients = clients;
    this.#wallClock = wallClockOf(wallClock);
  }

  async select(database: number): Promise<void> {
    await Promise.all(this.clients.map((client) => client.select(database)));
  }

  /** Without such an event nothing is reported. */
  onFault(_listener: (error: unknown) => void): void {}

  async quit(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.quit()));
  }

  disconnect(): void {
    this.#wallClock.restore();
    cut(this.clients);
  }
}
