import { InvalidArgumentError } from "../../errors.ts";
import type { Args } from "../../redis/connection.ts";
import { outside } from "../../time/async-context.ts";
import type { Timer } from "../../time/runtime.ts";
import { systemRuntime } from "../../time/system.ts";
import { hashSlot } from "../hash-slot.ts";
import { checkMade, type OwnEvents } from "../own-client.ts";
import {
  defaultConnectTimeout,
  ReconnectingClient,
  type SingleConnection,
  type SingleConnectionEvents,
} from "../reconnecting-client.ts";
import { Lost, NotSent } from "../session.ts";
import {
  destroy,
  duplicateOf,
  type NodeRedis,
  type NodeRedisClient,
  type NodeRedisOptions,
  retryDelay,
  sendNowOrNever,
} from "./duplicate.ts";
import { firstKeyOf, untraced, wordsOf } from "./words.ts";

export interface ClusterOptions {
  readonly rootNodes?: readonly NodeRedisOptions[];
  readonly defaults?: NodeRedisOptions;
  readonly keyPrefix?: string | Uint8Array;
  readonly nodeAddressMap?: AddressMap;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

type AddressMap = Readonly<Record<string, Address>> | ((address: string) => Address | undefined);

interface Node {
  readonly address: string;
  client?: NodeClient | undefined;
}

type NodeClient = Pick<NodeRedisClient, "on" | "destroy"> & {
  readonly isReady: boolean;
  sendCommand(words: readonly string[]): Promise<unknown>;
};

/** The used part of a Cluster client. */
export interface ClusterClient extends Omit<NodeRedisClient, "sendCommand"> {
  readonly slots: readonly ({ readonly master: Node } | undefined)[];
  readonly masters: readonly Node[];
  readonly nodeByAddress: ReadonlyMap<string, Node>;
  nodeClient(node: Node): unknown;
  sendCommand(
    key: string | undefined,
    isReadonly: boolean,
    words: readonly (string | Uint8Array)[],
  ): Promise<unknown>;
}

/** The options of a Cluster client are not public, but `duplicate` passes them to the constructor of its class. */
export function clusterOptionsOf(cluster: NodeRedisClient): ClusterOptions {
  let taken: ClusterOptions | undefined;
  // (Called as a constructor, so it cannot be an arrow function.)
  function take(options: ClusterOptions): void {
    taken = options;
  }
  // A wrapper may have bound the method to the Cluster, which stands behind it.
  for (const own of [cluster, Object.getPrototypeOf(cluster) as object]) {
    const prototype: object = Object.create(own, { constructor: { value: take } });
    const duplicate = async (): Promise<unknown> => (Object.create(prototype) as NodeRedisClient).duplicate();
    // (It fails on what is no Cluster.)
    duplicate().catch(() => {});
    if (taken) return taken;
  }
  throw new InvalidArgumentError("its options cannot be read: pass it itself, and no wrapper of it");
}

/** A Cluster client, replaced when none of its masters is connected any more. */
export class ClusterDuplicate extends ReconnectingClient<ClusterConnection> {
  readonly #user: NodeRedis;

  constructor(user: NodeRedis, events: Partial<OwnEvents>) {
    super(user, events);
    this.#user = user;
  }

  get addresses(): readonly string[] {
    const { nodeAddressMap } = clusterOptionsOf(this.#user.client);
    return (this.current?.addresses ?? []).map((address) => addressBehind(address, nodeAddressMap));
  }

  protected override get connectTimeout(): number {
    return this.#socketOptions?.connectTimeout || defaultConnectTimeout;
  }

  protected override delayAfter(retries: number, cause: Error): number | undefined {
    return retryDelay(this.#socketOptions?.reconnectStrategy, retries, cause);
  }

  get #socketOptions(): NodeRedisOptions["socket"] {
    return clusterOptionsOf(this.#user.client).defaults?.socket;
  }

  protected override open(events: SingleConnectionEvents): ClusterConnection {
    const { connectTimeout } = this;
    const { rootNodes = [], defaults, nodeAddressMap } = clusterOptionsOf(this.#user.client);
    let connection: ClusterConnection | undefined;
    const { reconnectStrategy } = defaults?.socket ?? {};
    const socket = {
      ...defaults?.socket,
      socketTimeout: undefined,
      // A node that stops reconnecting would be lost for ever.
      reconnectStrategy: (retries: number, cause: Error) =>
        retryDelay(reconnectStrategy, retries, cause) ?? 1000,
    };
    const cluster = duplicateOf(this.#user.client, {
      commandOptions: sendNowOrNever.commandOptions,
      clientSideCache: undefined,
      // A command without a key goes to any node, and must not reach a replica.
      useReplicas: false,
      // Otherwise one master that is down keeps the others from being used.
      minimizeConnections: true,
      // Gives up a server that hangs when it is asked for the slots, in time to ask another.
      rootNodes: rootNodes.map((node) => ({
        ...node,
        socket: { ...node.socket, socketTimeout: connectTimeout / 2 },
      })),
      defaults: { ...defaults, ...sendNowOrNever, socket },
      // Called for each client of a node that is made.
      nodeAddressMap(address: string) {
        connection?.onNode();
        return mappedAddress(address, nodeAddressMap);
      },
    }) as ClusterClient;
    const made = clusterOptionsOf(cluster);
    checkMade(cluster, { ...made, ...made.defaults }, { useReplicas: false, ...sendNowOrNever });
    connection = new ClusterConnection(cluster, this.#user.keyPrefix, connectTimeout / 4, events);
    return connection;
  }
}

/**
 * The masters of a Cluster like one connection. A Cluster client connects to each master at the first command for
 * one of its slots, and a command would wait for that for as long as it takes: it is sent only to a master that is
 * connected.
 */
class ClusterConnection implements SingleConnection {
  readonly #cluster: ClusterClient;
  readonly #keyPrefix: string;
  /** The time that its masters have to greet a connection before the others are used without them, ms. */
  readonly #greetingTimeout: number;
  readonly #events: SingleConnectionEvents;
  /** The clients of nodes that are known, and whether each is dialing. */
  readonly #isDialing = new WeakMap<NodeClient, boolean>();
  #error: unknown;
  #isReady = false;
  #isOver = false;
  /** Whether a master is being asked for the new place of a slot. */
  #isAsking = false;

  constructor(
    cluster: ClusterClient,
    keyPrefix: string,
    greetingTimeout: number,
    events: SingleConnectionEvents,
  ) {
    this.#cluster = cluster;
    this.#keyPrefix = keyPrefix;
    this.#greetingTimeout = greetingTimeout;
    this.#events = events;
    cluster.on("error", (error: unknown) => {
      this.#error ??= error;
    });
    // Missing in version 5.0, which is why masters are watched as well.
    cluster.on("node-error", (error: unknown) => this.#onNodeError(error));
  }

  #onNodeError(error: unknown): void {
    this.#error = error;
    if (this.#isReady && !this.#masters.some(({ client }) => client?.isReady)) this.#events.onLost(error);
  }

  /** node-redis makes a client of a node, for a command or after a redirection. Throws if it is too late for one. */
  onNode(): void {
    if (this.#isOver) throw new NotSent("the connection is closed");
    void Promise.resolve().then(() => this.#watchNodes());
  }

  /** (Before any of their dials can have ended.) */
  #watchNodes(): void {
    for (const { client } of this.#nodes) {
      if (!client || this.#isDialing.has(client)) continue;
      const setDialing = (isDialing: boolean): void => {
        this.#isDialing.set(client, isDialing);
        if (this.#isOver && !isDialing) destroy(client);
      };
      this.#isDialing.set(client, true);
      client.on("connect", () => setDialing(false));
      client.on("reconnecting", () => setDialing(true));
      client.on("error", (error: unknown) => {
        setDialing(false);
        this.#onNodeError(error);
      });
    }
  }

  get #nodes(): Node[] {
    return [...this.#cluster.nodeByAddress.values()];
  }

  get #masters(): readonly Node[] {
    return this.#cluster.masters;
  }

  get addresses(): readonly string[] {
    return [...this.#cluster.nodeByAddress.keys()];
  }

  /**
   * Resolves when each master is connected, has failed for the first time, or has not greeted the connection in time;
   * rejects if none is connected. A master that hangs must not keep the others from being used.
   */
  async connect(): Promise<void> {
    try {
      await this.#cluster.connect();
    } catch (error) {
      throw this.#error ?? error;
    }
    if (this.#isOver) throw new NotSent("the connection is closed");
    await this.#inTime(Promise.all(this.#masters.map((node) => this.#connected(node))));
    if (!this.#masters.some(({ client }) => client?.isReady)) {
      throw this.#error ?? new Lost("no master has greeted the connection");
    }
    this.#isReady = true;
    this.#events.onReady();
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
    // (Version 5 returns a client that it has already, and no promise.)
    return outside(async () => this.#cluster.nodeClient(node)).catch(() => {});
  }

  send(command: string, args: Args): Promise<unknown> {
    const words = wordsOf(command, args, this.#keyPrefix);
    const key = firstKeyOf(words);
    const node = key === undefined ? undefined : this.#cluster.slots[hashSlot(key)]?.master;
    if (node && !node.client?.isReady) {
      void this.#connectTo(node);
      void this.#askForSlot(key!, node);
      return Promise.reject(new NotSent(`${node.address} is not connected`));
    }
    // (Agents patch the clients of its nodes.)
    const client = (node ?? this.#masters[0])?.client ?? this.#cluster;
    return this.#cluster.sendCommand(key, false, untraced(words, client)).catch(redirectionError);
  }

  /**
   * After a failover node-redis 5 looks for the new master of a slot only once a command was redirected, and none is sent
   * to the old one. So another master is asked where the slot is; if it has moved, all slots are asked for on a new
   * connection.
   */
  async #askForSlot(key: string, lost: Node): Promise<void> {
    const other = this.#masters.find(({ client }) => client?.isReady);
    if (!other || this.#isAsking) return;
    this.#isAsking = true;
    const asked = outside(() => other.client!.sendCommand(["EXISTS", key]));
    const address = await asked.then(() => other.address, addressIn);
    this.#isAsking = false;
    if (address === undefined || address === lost.address || lost.client?.isReady) return;
    this.#events.onLost(new Lost(`the slots of ${lost.address} are at ${address} now`));
  }

  /** A client of a node that is destroyed while it dials stays connected: it is destroyed once the dial has ended. */
  destroy(): void {
    this.#isOver = true;
    this.#watchNodes();
    for (const node of this.#nodes) {
      if (node.client && this.#isDialing.get(node.client)) node.client = undefined;
    }
    destroy(this.#cluster);
  }
}

function mappedAddress(announced: string, map: AddressMap | undefined): Address | undefined {
  return typeof map === "function" ? outside(() => map(announced)) : map?.[announced];
}

/** The address that is dialed for the one that a node announces: several Clusters may announce the same. */
function addressBehind(announced: string, map: AddressMap | undefined): string {
  const address = mappedAddress(announced, map);
  return address ? `${address.host}:${address.port}` : announced;
}

/** Where a redirection leads to. */
function addressIn(error: unknown): string | undefined {
  return error instanceof Error ? /^MOVED \d+ (.+:\d+)$/.exec(error.message)?.[1] : undefined;
}

/** The masters were reached: the slot is moving. */
function redirectionError(error: unknown): never {
  const isMoving =
    error instanceof Error && /^(Too many Cluster redirections|MOVED |ASK )/.test(error.message);
  throw isMoving ? new Error(`TRYAGAIN the hash slot moves (${error.message})`) : error;
}
