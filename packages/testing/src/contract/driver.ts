import type { LockNode } from "@quorlock/redlock/internal";

/** The real content of a master, read past the node under test. Keys go by the names that the node is given. */
export interface MasterView {
  get(resource: string): Promise<string | null>;
  /** Milliseconds; -1 for a key without expiry, -2 for none. */
  pttl(resource: string): Promise<number>;
  /** Without `ttl`, a key without expiry. */
  set(resource: string, value: string, ttl?: number): Promise<void>;
  /** Puts something there that is no lock. */
  setList(resource: string): Promise<void>;
  remove(resource: string): Promise<void>;
  /** How long the waiter's place in the queue lasts, ms; -2 where it has none. */
  place(resource: string, waiter: string): Promise<number>;
  /** How many listen to a channel. */
  listeners(channel: string): Promise<number>;
  /** Forgets cached scripts, as a restart does; nothing to do where none are used. */
  forgetScripts(): Promise<void>;
}

/** The way from the nodes to their master. */
export interface Path {
  /** Keeps what the nodes send, until `deliver`. Answers pass. */
  hold(): void;
  /** Resolves when something is kept. */
  held(): Promise<void>;
  /** Passes on what was kept, and all that comes. */
  deliver(): void;
  /** Keeps the master's answers until `deliverReplies`. Commands of the nodes pass. */
  holdReplies(): void;
  heldReplies(): Promise<void>;
  deliverReplies(): void;
  /** Ends the present connections with all that is kept on them; new ones are accepted. */
  reset(): void;
  /** `reset`, and new connections are refused from when this resolves. */
  cut(): Promise<void>;
  /** Everything passes again, and new connections are accepted. */
  heal(): Promise<void>;
  /** Connections that are open now. */
  readonly connections: number;
}

/** A kind of `LockNode` with a real (or simulated) master behind it, for the contract suite. */
export interface Driver extends AsyncDisposable {
  readonly master: MasterView;
  readonly path: Path;
  /** A node with a connection of its own; what makes that connection begins at once or with the first call. */
  connect(): LockNode;
}

/** Starts a driver. `queue`: how its nodes serve waiters; `heartbeats` is a queue without messages to subscribe to. */
export interface DriverMaker {
  (): Promise<Driver>;
  readonly queue: "pushes" | "heartbeats" | "none";
  /** Whether its nodes store fencing tokens. */
  readonly keepsCounters: boolean;
}
