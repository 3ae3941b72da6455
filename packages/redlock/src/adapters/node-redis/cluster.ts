import { hashSlot } from "../../redis/hash-slot.ts";
import { NotSent } from "../../redis/session.ts";
import { outside } from "../../time/async-context.ts";
import type { Timer } from "../../time/runtime.ts";
import { systemRuntime } from "../../time/system.ts";
import {
  Duplicate,
  type DuplicateClient,
  destroy,
  type NodeRedisClient,
  type NodeRedisOptions,
  retryDelay,
  sendNowOrNever,
} from "./duplicate.ts";
import { firstKeyOf } from "./key-prefix.ts";

export interface ClusterOptions {
  readonly rootNodes?: readonly (NodeRedisOptions & { readonly url?: string })[];
  readonly defaults?: NodeRedisOptions;
  readonly keyPrefix?: string | Uint8Array;
}

interface Node {
  readonly address: string;
  readonly client?: Pick<NodeRedisClient, "on"> & { readonly isReady: boolean };
}

/** The used part of a Cluster client. */
interface ClusterClient extends Omit<NodeRedisClient, "sendCommand"> {
  readonly slots: readonly ({ readonly master: Node } | undefined)[];
  readonly masters: readonly Node[];
  readonly nodeByAddress: ReadonlyMap<string, Node>;
  nodeClient(node: Node): Promise<unknown>;
  sendCommand(key: string | undefined, isReadonly: boolean, words: readonly string[]): Promise<unknown>;
}

/** The options of a Cluster client are not public, but `duplicate` passes them to the constructor of its class. */
export function clusterOptionsOf(cluster: NodeRedisClient): ClusterOptions {
  let taken: ClusterOptions = {};
  // (Called as a constructor, for which an arrow function will not do.)
  function take(options: ClusterOptions): void {
    taken = options;
  }
  const prototype: object = Object.create(cluster, { constructor: { value: take } });
  (Object.create(prototype) as NodeRedisClient).duplicate();
  return taken;
}

/** A Cluster client, replaced when none of its masters is connected any more. */
export class ClusterDuplicate extends Duplicate {
  get addresses(): readonly string[] {
    return (this.current as ClusterConnection | undefined)?.addresses ?? [];
  }

  protected override get options(): NodeRedisOptions {
    return clusterOptionsOf(this.userClient).defaults ?? {};
  }

  protected override make(_: unknown, connectTimeout: number): DuplicateClient {
    const { rootNodes = [], defaults } = clusterOptionsOf(this.userClient);
    const { reconnectStrategy } = defaults?.socket ?? {};
    const socket = {
      ...defaults?.socket,
      socketTimeout: undefined,
      // A node that gave up would be lost for ever.
      reconnectStrategy: (retries: number, cause: Error) =>
        retryDelay(reconnectStrategy, retries, cause) ?? 1000,
    };
    const cluster = this.duplicate({
      commandOptions: sendNowOrNever.commandOptions,
      clientSideCache: undefined,
      useReplicas: false,
      // Otherwise one master that is down keeps the others from being used.
      minimizeConnections: true,
      // A server that hangs while it is asked for the slots is given up, in time to ask another.
      rootNodes: rootNodes.map((node) => ({
        ...node,
        socket: { ...node.socket, socketTimeout: connectTimeout / 2 },
      })),
      defaults: { ...defaults, ...sendNowOrNever, socket },
    });
    return new ClusterConnection(cluster as ClusterClient, connectTimeout / 4);
  }
}

/**
 * The masters of a Cluster like one connection. A Cluster client connects to each master at the first command for
 * one of its slots, and a command would wait for that for as long as it takes: it is sent only to a master that is
 * connected.
 */
class ClusterConnection implements DuplicateClient {
  readonly #cluster: ClusterClient;
  /** The time that its masters have to greet a connection before the others are used without them, ms. */
  readonly #greetingTimeout: number;
  readonly #listeners = new Map<string, (argument?: unknown) => void>();
  #error: unknown;

  constructor(cluster: ClusterClient, greetingTimeout: number) {
    this.#cluster = cluster;
    this.#greetingTimeout = greetingTimeout;
    cluster.on("error", (error: unknown) => {
      this.#error ??= error;
    });
    cluster.on("node-error", (error: unknown) => {
      this.#error = error;
      if (this.#isReady && !this.#masters.some(({ client }) => client?.isReady)) this.#emit("error", error);
    });
  }

  #isReady = false;

  get #masters(): readonly Node[] {
    return this.#cluster.masters;
  }

  get addresses(): readonly string[] {
    return [...this.#cluster.nodeByAddress.keys()];
  }

  on(event: string, listener: (argument?: unknown) => void): void {
    this.#listeners.set(event, listener);
  }

  #emit(event: string, argument?: unknown): void {
    this.#listeners.get(event)?.(argument);
  }

  /**
   * Until each master is connected, has failed for the first time, or has not greeted the connection in time; rejects
   * if none is connected. One that hangs must not keep the others from being used.
   */
  async connect(): Promise<void> {
    this.#emit("connect");
    try {
      await this.#cluster.connect();
    } catch (error) {
      throw this.#error ?? error;
    }
    await this.#inTime(Promise.all(this.#masters.map((node) => this.#connected(node))));
    if (!this.#masters.some(({ client }) => client?.isReady)) {
      throw this.#error ?? new Error("no master has greeted the connection");
    }
    this.#isReady = true;
    this.#emit("ready");
  }

  async #inTime(connecting: Promise<unknown>): Promise<void> {
    let timer: Timer | undefined;
    const isLate = new Promise((resolve) => {
      timer = systemRuntime.setTimer(() => resolve(undefined), this.#greetingTimeout);
    });
    await Promise.race([connecting, isLate]);
    timer?.cancel();
  }

  #connected(node: Node): Promise<unknown> {
    const connecting = this.#connectTo(node);
    return Promise.race([connecting, new Promise((resolve) => node.client?.on("error", resolve))]);
  }

  #connectTo(node: Node): Promise<unknown> {
    return outside(() => this.#cluster.nodeClient(node)).catch(() => {});
  }

  sendCommand(words: readonly string[]): Promise<unknown> {
    const key = firstKeyOf(words);
    const node = key === undefined ? undefined : this.#cluster.slots[hashSlot(key)]?.master;
    if (node && !node.client?.isReady) {
      void this.#connectTo(node);
      return Promise.reject(new NotSent(`${node.address} is not connected`));
    }
    return this.#cluster.sendCommand(key, false, words).catch(redirectionError);
  }

  destroy(): void {
    destroy(this.#cluster);
  }
}

/** The masters were reached: the slot is moving. */
function redirectionError(error: unknown): never {
  const isMoving =
    error instanceof Error && /^(Too many Cluster redirections|MOVED |ASK )/.test(error.message);
  throw isMoving ? new ErrorReply(`TRYAGAIN the hash slot moves (${error.message})`) : error;
}

class ErrorReply extends Error {}
