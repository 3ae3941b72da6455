import type { Message } from "../../redis/connection.ts";
import { outside } from "../../time/async-context.ts";
import { systemRuntime } from "../../time/system.ts";
import { hashSlot } from "../hash-slot.ts";
import { checkMade, type LinkEvents, Lost, NotSent } from "../link.ts";
import type { Address, AddressMap, NodeRedisClient } from "./client.ts";
import { destroy, duplicateOf, type NodeRedis, NodeRedisLink, retryDelay, sendNowOrNever } from "./link.ts";
import { clusterOptionsOf, takeOut } from "./private.ts";
import { untraced, wordsOf } from "./words.ts";

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

/**
 * The masters of a Cluster like one connection, which is over when none of them is connected any more. A Cluster client
 * connects to each master at the first command for one of its slots, and a command would wait for that for as long as it
 * takes: it is sent only to a master that is connected.
 */
export class ClusterLink extends NodeRedisLink {
  readonly #user: NodeRedis;
  readonly #cluster: ClusterClient;
  /** The time that its masters have to greet a connection before the others are used without them, ms. */
  readonly #greetingTimeout: number;
  /** The clients of nodes that are known, and whether each is dialing. */
  readonly #isDialing = new WeakMap<NodeClient, boolean>();
  #error: unknown;
  #isGreeted = false;
  /** Whether a master is being asked for the new place of a slot. */
  #isAsking = false;

  constructor(user: NodeRedis, connectTimeout: number) {
    super(user);
    this.#user = user;
    this.#greetingTimeout = connectTimeout / 4;
    const { rootNodes = [], defaults, nodeAddressMap } = clusterOptionsOf(user.client);
    const { reconnectStrategy } = defaults?.socket ?? {};
    const socket = {
      ...defaults?.socket,
      socketTimeout: undefined,
      // A node that stops reconnecting would be lost for ever.
      reconnectStrategy: (retries: number, cause: Error) =>
        retryDelay(reconnectStrategy, retries, cause) ?? 1000,
    };
    this.#cluster = duplicateOf(user.client, {
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
      nodeAddressMap: (address: string) => {
        this.#onNode();
        return mappedAddress(address, nodeAddressMap);
      },
    }) as ClusterClient;
    const made = clusterOptionsOf(this.#cluster);
    checkMade(this.#cluster, { ...made, ...made.defaults }, { useReplicas: false, ...sendNowOrNever });
    this.#cluster.on("error", (error: unknown) => {
      this.#error ??= error;
    });
    // Missing in version 5.0, which is why masters are watched as well.
    this.#cluster.on("node-error", (error: unknown) => this.#onNodeError(error));
  }

  get isReady(): boolean {
    return this.#isGreeted && !this.isOver;
  }

  #onNodeError(error: unknown): void {
    this.#error = error;
    if (this.#isGreeted && !this.#masters.some(({ client }) => client?.isReady)) this.lose(error);
  }

  /** node-redis makes a client of a node, for a command or after a redirection. Throws if it is too late for one. */
  #onNode(): void {
    if (this.isOver) throw new NotSent("the connection is closed");
    void Promise.resolve().then(() => this.#watchNodes());
  }

  /** (Before any of their dials can have ended.) */
  #watchNodes(): void {
    for (const { client } of this.#nodes) {
      if (!client || this.#isDialing.has(client)) continue;
      const setDialing = (isDialing: boolean): void => {
        this.#isDialing.set(client, isDialing);
        if (this.isOver && !isDialing) destroy(client);
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
    const { nodeAddressMap } = clusterOptionsOf(this.#user.client);
    return [...this.#cluster.nodeByAddress.keys()].map((address) => addressBehind(address, nodeAddressMap));
  }

  /**
   * Resolves when each master is connected, has failed for the first time, or has not greeted the connection in time;
   * rejects if none is connected. A master that hangs must not keep the others from being used.
   */
  protected override async connect({ onReady }: LinkEvents): Promise<void> {
    try {
      await this.#cluster.connect();
    } catch (error) {
      throw this.#error ?? error;
    }
    if (this.isOver) throw new NotSent("the connection is closed");
    const late = new Promise((resolve) =>
      systemRuntime.setTimer(() => resolve(undefined), this.#greetingTimeout).unref(),
    );
    await Promise.race([late, Promise.all(this.#masters.map((node) => this.#connected(node)))]);
    if (!this.#masters.some(({ client }) => client?.isReady)) {
      throw this.#error ?? new Lost("no master has greeted the connection");
    }
    this.#isGreeted = true;
    onReady();
  }

  #connected(node: Node): Promise<unknown> {
    const connecting = this.#connectTo(node);
    return Promise.race([connecting, new Promise((resolve) => node.client?.on("error", resolve))]);
  }

  #connectTo(node: Node): Promise<unknown> {
    // (Version 5 returns a client that it has already, and no promise.)
    return outside(async () => this.#cluster.nodeClient(node)).catch(() => {});
  }

  protected override request(message: Message): Promise<unknown> {
    const words = wordsOf(message, this.#user.keyPrefix);
    const { key } = words;
    const node = key === undefined ? undefined : this.#cluster.slots[hashSlot(key)]?.master;
    if (node && !node.client?.isReady) {
      void this.#connectTo(node);
      void this.#askForSlot(key!, node);
      return Promise.reject(new NotSent(`${node.address} is not connected`));
    }
    // (Agents patch the clients of its nodes.)
    const client = (node ?? this.#masters[0])?.client ?? this.#cluster;
    return this.#cluster
      .sendCommand(key, false, untraced(words, this.isPatched(client)))
      .catch(redirectionError);
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
    this.lose(new Lost(`the slots of ${lost.address} are at ${address} now`));
  }

  /** A client of a node that is destroyed while it dials stays connected: it is destroyed once the dial has ended. */
  protected override destroy(): void {
    this.#watchNodes();
    takeOut(this.#nodes.filter(({ client }) => client && this.#isDialing.get(client)));
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
