/**
 * The used part of a node-redis client (`createClient`) or Cluster (`createCluster`), versions 5 and 6. A type
 * and not an import: the core never loads node-redis.
 */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(...args: never[]): unknown;
  /** Not a Sentinel client, which sends commands again. */
  readonly getSentinelNode?: undefined;
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

export interface ClusterOptions {
  readonly rootNodes?: readonly NodeRedisOptions[];
  readonly defaults?: NodeRedisOptions;
  readonly keyPrefix?: string | Uint8Array;
  readonly nodeAddressMap?: AddressMap;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export type AddressMap = Readonly<Record<string, Address>> | ((address: string) => Address | undefined);
