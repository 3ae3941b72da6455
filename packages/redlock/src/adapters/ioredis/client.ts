/**
 * The used part of an ioredis `Redis` or `Cluster`, versions 4.31, 5 and 6. A type and not an import: the core
 * never loads ioredis.
 */
export interface IoredisClient {
  readonly status: string;
  readonly options: object;
  duplicate(...args: never[]): unknown;
  disconnect(): void;
  quit(): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: ioredis declares each event with arguments of its own.
  on(event: string, listener: (...args: any[]) => void): unknown;
}

export interface IoredisOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly name?: string | null;
  readonly sentinels?: readonly object[] | null;
  readonly keyPrefix?: string;
  readonly db?: number;
  readonly username?: string | null;
  readonly password?: string | null;
  readonly connectTimeout?: number;
  readonly sentinelCommandTimeout?: number;
  readonly failoverDetector?: boolean;
  readonly enableReadyCheck?: boolean;
  readonly redisOptions?: IoredisOptions;
  readonly retryStrategy?: ((times: number) => unknown) | null;
  readonly clusterRetryStrategy?: ((times: number, reason?: Error) => unknown) | null;
  readonly reconnectOnError?: ((error: Error) => unknown) | null;
}
