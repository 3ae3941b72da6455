/**
 * The used part of a client of node-redis (`createClient`), versions 5 and 6. A type and not an import: the core never
 * loads node-redis.
 */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(...args: never[]): unknown;
  /** Neither a Sentinel client nor a Cluster: they have connections of their own making. */
  readonly getSentinelNode?: undefined;
  readonly nodeClient?: undefined;
  sendCommand(...args: never[]): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: node-redis declares each event with arguments of its own.
  on(event: string, listener: (...args: any[]) => void): unknown;
}

export type ReconnectStrategy = number | false | ((retries: number, cause: Error) => unknown) | undefined;

export interface NodeRedisOptions {
  readonly RESP?: number;
  readonly url?: string;
  readonly database?: number;
  readonly keyPrefix?: string | Uint8Array;
  readonly disableClientInfo?: boolean;
  readonly socket?: {
    readonly host?: string;
    readonly port?: number;
    readonly path?: string;
    readonly connectTimeout?: number;
    readonly reconnectStrategy?: ReconnectStrategy;
  };
}
