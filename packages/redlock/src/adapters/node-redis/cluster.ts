import type { Args } from "../../redis/connection.ts";
import { hashSlot } from "../../redis/hash-slot.ts";
import { NotSent } from "../../redis/session.ts";
import { outside } from "../../time/async-context.ts";
import { afterTurn } from "../../time/system.ts";
import type { OwnClient, OwnEvents } from "../own-client.ts";
import { destroy, type NodeRedisClient, type NodeRedisOptions, sendNowOrNever } from "./duplicate.ts";
import { firstKeyOf, wordsOf } from "./key-prefix.ts";

export interface ClusterOptions {
  readonly rootNodes?: readonly (NodeRedisOptions & { readonly url?: string })[];
  readonly defaults?: NodeRedisOptions;
  readonly keyPrefix?: string | Uint8Array;
}

interface Node {
  readonly address: string;
  readonly client?: { readonly isReady: boolean };
}

/** The used part of a Cluster client. */
interface ClusterClient extends NodeRedisClient {
  readonly slots: readonly ({ readonly master: Node } | undefined)[];
  readonly nodeByAddress: ReadonlyMap<string, Node>;
  nodeClient(node: Node): Promise<unknown>;
  sendCommand(key: string | undefined, isReadonly: boolean, words: readonly string[]): Promise<unknown>;
}

/** The options of a Cluster client are not public, but `duplicate` passes them to the constructor of its class. */
export function clusterOptionsOf(cluster: NodeRedisClient): ClusterOptions {
  let taken: ClusterOptions = {};
  class Taker {
    constructor(options: ClusterOptions) {
      taken = options;
    }
  }
  const prototype: object = Object.create(cluster, { constructor: { value: Taker } });
  (Object.create(prototype) as NodeRedisClient).duplicate();
  return taken;
}

/**
 * A Cluster client connects to each master at the first command for one of its slots, and a command would wait
 * for that for as long as it takes. Here it is sent only to a master that is connected.
 */
export class ClusterDuplicate implements OwnClient {
  status = "wait";
  readonly client: this = this;
  readonly #cluster: ClusterClient;
  readonly #keyPrefix: string;
  readonly #events: OwnEvents;

  constructor(userClient: NodeRedisClient, keyPrefix: string, events: OwnEvents) {
    const { defaults } = clusterOptionsOf(userClient);
    const { reconnectStrategy, ...socket } = defaults?.socket ?? {};
    this.#keyPrefix = keyPrefix;
    this.#events = events;
    const duplicate = userClient.duplicate.bind(userClient) as (overrides: object) => unknown;
    this.#cluster = duplicate({
      commandOptions: sendNowOrNever.commandOptions,
      clientSideCache: undefined,
      useReplicas: false,
      minimizeConnections: true,
      defaults: {
        ...defaults,
        ...sendNowOrNever,
        socket: { ...socket, ...(typeof reconnectStrategy === "function" ? { reconnectStrategy } : {}) },
      },
    }) as ClusterClient;
    this.#cluster.on("error", events.onError);
    this.#cluster.on("node-error", events.onError);
  }

  async connect(): Promise<void> {
    this.status = "connecting";
    try {
      await outside(() => this.#cluster.connect());
      const nodes = new Set(this.#cluster.slots.flatMap((slot) => slot?.master ?? []));
      await Promise.all([...nodes].map((node) => this.#connected(node)));
    } catch (error) {
      if (this.status === "end") return;
      this.end();
      throw error;
    }
    if (this.status !== "connecting") return;
    this.status = "ready";
    this.#events.onReady();
  }

  /** Resolves when the node is connected, or has failed for the first time. */
  #connected(node: Node): Promise<unknown> {
    const failed = new Promise<void>((resolve) => this.#cluster.on("node-error", () => resolve()));
    return Promise.race([failed, outside(() => this.#cluster.nodeClient(node)).catch(() => {})]);
  }

  get addresses(): readonly string[] {
    return [...this.#cluster.nodeByAddress.keys()];
  }

  send(command: string, args: Args): Promise<unknown> {
    const words = wordsOf(command, args, this.#keyPrefix);
    const key = firstKeyOf(command, words);
    const node = key === undefined ? undefined : this.#cluster.slots[hashSlot(key)]?.master;
    if (node && !node.client?.isReady) {
      outside(() => this.#cluster.nodeClient(node)).catch(() => {});
      return Promise.reject(new NotSent(`${node.address} is not connected`));
    }
    return this.#cluster.sendCommand(key, false, words).catch(redirectionError);
  }

  /** A Cluster has many connections and replaces them itself. */
  cut(): void {}

  drop(): void {
    this.end();
  }

  end(): void {
    if (this.status === "end") return;
    this.status = "end";
    afterTurn(() => {
      outside(() => destroy(this.#cluster));
      this.#events.onClose();
      this.#events.onEnd();
    });
  }
}

/** The masters were reached: the slot is moving. */
function redirectionError(error: unknown): never {
  const isMoving =
    error instanceof Error && /^(Too many Cluster redirections|MOVED|ASK)\b/.test(error.message);
  throw isMoving ? new ErrorReply(`TRYAGAIN the hash slot moves (${error.message})`) : error;
}

class ErrorReply extends Error {}
