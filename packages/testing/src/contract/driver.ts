import type { Connection, LockNode } from "@quorlock/redlock/internal";

/** The real content of a master, read on a separate connection. Keys have the names that the node is given. */
export interface MasterView {
  get(resource: string): Promise<string | null>;
  /** Milliseconds; -1 for a key without expiry, -2 for none. */
  pttl(resource: string): Promise<number>;
  /** Without `ttl`, a key without expiry. */
  set(resource: string, value: string, ttl?: number): Promise<void>;
  /** Creates a key that is no lock. */
  setList(resource: string): Promise<void>;
  remove(resource: string): Promise<void>;
  /** The remaining time of the waiter's queue entry, ms; -2 if it has none. */
  place(resource: string, waiter: string): Promise<number>;
  /** The number of subscribers of a channel. */
  listeners(channel: string): Promise<number>;
  /** Flushes cached scripts, as a restart does; does nothing for nodes without scripts. */
  forgetScripts(): Promise<void>;
}

/** The network between the nodes and their master. */
export interface Path {
  /** Holds back commands of the nodes until `deliver`. Replies pass. */
  hold(): void;
  /** Resolves when a command is held back. */
  held(): Promise<void>;
  /** Delivers the held commands, and all later ones. */
  deliver(): void;
  /** Holds back the master's replies until `deliverReplies`. Commands of the nodes pass. */
  holdReplies(): void;
  heldReplies(): Promise<void>;
  deliverReplies(): void;
  /** Resets the current connections and drops the held messages; new connections are accepted. */
  reset(): void;
  /** `reset`; new connections are refused once this has resolved. */
  cut(): Promise<void>;
  /** Ends every fault: messages pass, and new connections are accepted. */
  heal(): Promise<void>;
  /** The number of open connections. */
  readonly connections: number;
}

/** A kind of `LockNode` with a real (or simulated) master behind it, for the contract suite. */
export interface Driver extends AsyncDisposable {
  readonly master: MasterView;
  readonly path: Path;
  /** A node with its own connection, which is made at once or at the first call. */
  connect(): LockNode;
  /** A connection of the kind that the nodes have. Only called if `makesConnections`. */
  connectOnly(): Connection;
}

/** Starts a driver. `queue`: how its nodes serve waiters; `heartbeats` is a queue without messages to subscribe to. */
export interface DriverMaker {
  (): Promise<Driver>;
  readonly queue: "pushes" | "heartbeats" | "none";
  /** Whether its nodes store fencing tokens. */
  readonly keepsCounters: boolean;
  /** Whether its nodes are made of connections, which have their own cases. */
  readonly makesConnections: boolean;
}
