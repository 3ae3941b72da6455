import type { NodeError } from "../errors.ts";
import type { ClockJudge, ClockReadings, Reading } from "./reading.ts";

/** The key of every resource holds the token, and lives at least `remaining` ms from the moment of the answer. */
export interface Yes {
  readonly is: "yes";
  readonly remaining: number;
  /**
   * The largest fencing counter of the resources before the proposal was stored. Set only for a claim with a
   * proposal.
   */
  readonly counter?: number;
  /**
   * The master may have forgotten earlier votes (PROTOCOL 9.7). Its vote counts only if it is known to have kept the
   * votes of this lease until now: in that case it cannot have voted for another client.
   */
  readonly inQuarantine?: boolean;
  /** The smallest ticket of other entries in the queues of the resources; missing if there is none (PROTOCOL 7.15). */
  readonly nextTicket?: number;
}

/** A refusal: `resource` holds another token or, where the command sets no keys, none. */
export interface No {
  readonly is: "no";
  readonly resource: string;
  /** The token that the key holds, `masked`; `undefined` if the key is free. */
  readonly owner: string | undefined;
  /** The remaining time of that key, ms; 0 if it is free, `Infinity` if it has no expiry. */
  readonly remaining: number;
  /** The largest ticket in the queue of the resource, if the claim was enqueued. */
  readonly latestTicket?: number | undefined;
  /** The key is free, and the master has voted for nobody since it forgot: its memory is new to it (PROTOCOL 4.7). */
  readonly isNew?: boolean;
}

/** No vote. The key may hold the token nevertheless, unless nothing was sent. */
export interface Fault {
  readonly is: "fault";
  readonly error: NodeError;
  /** Whether the command may have reached the master. */
  readonly sent: boolean;
}

/** `done`: all keys held the token and are deleted; the mark is set, the counters are restored. `missed`: not so. */
export interface Outcome {
  readonly is: "done" | "missed";
}

/** Told apart by `is`. */
export type Answer = Yes | No | Fault | Outcome | KeyState | GuardState | Reading;

/** A question may be unwanted by the time its turn comes: then it is not sent. */
export interface Claim {
  /**
   * The caller gave up, or its lease has ended. Behind the rollback or the release the question would set a key that
   * nothing deletes.
   */
  readonly abandoned: boolean;
}

/** A place in the queues of the masters that refuse. */
export interface Entry {
  /** Smaller tickets are served first, on every master. */
  readonly ticket: number;
  /** How long it lasts unless it is renewed by another question, ms. */
  readonly ttl: number;
}

/**
 * - `vote`: sets every key that is free or holds the token, for at least `ttl`; or none of them. `voteUnless`: the
 *   same for all keys but the last, if that one is free.
 * - `extend`: renews every key that holds the token, for at least `ttl`. `repair`: sets free keys as well.
 * - `release`: deletes the keys that hold the token, or a token of an earlier round of it. With a queue, its head
 *   is granted the keys, and entries that belong to the token are removed.
 * - `enqueue`: votes if all keys are free, or hold a token of an earlier round of the same waiter, and no entry is ahead of
 *   it. Otherwise the entry stays in the queue, and keys granted to it in an earlier round go to the head of the queue.
 * - `mark`: keeps further shared claims out of a lock for `ttl` ms, or with 0 no longer (PROTOCOL 10.8). Its value is a name.
 * - `inspect`: reads the state of one key. `time`: reads the master's clock.
 * - `guardState`: reads the guard state; the terms of the guard are applied first. `restoreCounters`: declares the
 *   counters complete with this floor, if the master has not lost its memory again since the epoch.
 */
export type Verb =
  | "vote"
  | "voteUnless"
  | "extend"
  | "repair"
  | "release"
  | "enqueue"
  | "mark"
  | "inspect"
  | "guardState"
  | "restoreCounters"
  | "time";

/** One question, the same object for every master; made by `questionOf`, whose file explains it. */
export interface Question {
  readonly verb: Verb;
  readonly keys: readonly string[];
  /**
   * The token of a claim or a release; the name of a mark; the epoch and the floor for `restoreCounters`; for `guardState`
   * what its guard makes terms of.
   */
  readonly words: readonly string[];
  /** ms; 0 for a question that sets nothing. */
  readonly ttl: number;
  /**
   * A fencing token. A master that grants the claim stores it as the counter of each key in the same step, unless the
   * counter is larger already (PROTOCOL 8.1). A node without counters answers without a `counter`.
   */
  readonly proposal: number | undefined;
  /** For `enqueue`. */
  readonly entry: Entry | undefined;
  /** Set if it requests keys; read again before each send. Any other question is always sent. */
  readonly claim: Claim | undefined;
}

/** Hears the answers of masters. */
export interface Sink {
  /**
   * Called once for each master that was asked, with the place and its answer, possibly before `ask` returns. It must
   * not throw.
   */
  answered(place: number, answer: Answer | Timed): void;
}

/**
 * A vote that counts only if the master's clock is judged to be right, with the clock as it was read behind the vote.
 * It becomes an answer only through the clocks of its round (PROTOCOL 11.4; see `RoundClocks`).
 */
export interface Timed<Vote = Yes | No> {
  readonly is: "timed";
  readonly vote: Vote;
  readonly clock: ClockJudge;
  readonly reading: Reading;
}

/** A message from a master to a waiting claim: the key holds `token` now, which is a vote. */
export interface Grant {
  readonly is: "grant";
  readonly token: string;
  /** As in {@link Yes}. */
  readonly counter: number | undefined;
  /** The next ticket in the queue; `Infinity` if there is none. */
  readonly nextTicket: number;
}

/** The same: the key that blocked the entry of `token` is reserved for it. */
export interface Wake {
  readonly is: "wake";
  readonly token: string;
}

export type Push = Grant | Timed<Grant> | Wake;
export type OnPush = (push: Push) => void;

/** The queue of one master (PROTOCOL 7). A node with a queue knows the verbs `enqueue` and `time`. */
export interface LockQueue {
  /**
   * Subscribes to grants of this master, on a connection of its own. Resolves once it is known whether the
   * subscription works. `onChange` is called whenever the subscription starts or stops: grants may have been missed
   * meanwhile, and queue entries may name a channel without a subscriber.
   */
  listen(channel: string, onPush: OnPush, onChange: () => void): Promise<void>;
  /** Whether grants are received now. Otherwise queue entries are marked so, and find their grant by asking again. */
  readonly isListening: boolean;
}

/** The restart guard of one client at one master; see `MasterGuard`. */
export interface Guard {
  /** The arguments for the scripts that the question is sent with, as of now. */
  terms(question: Question): string;
  /** Called when the master gave no vote to a claim, or was not asked. */
  refused(error: NodeError): void;
  /** Called when the master extended a claim in quarantine. */
  extendedInQuarantine(): void;
}

/** The restart guard's knowledge of one master. */
export interface GuardState {
  readonly is: "guard";
  /** The agreed longest ttl, ms; 0 if the master is new or was emptied. */
  readonly maxTtl: number;
  /** How long the master will not vote, ms. */
  readonly quarantine: number;
  /** Identifies the latest loss of memory; larger than all earlier ones. */
  readonly epoch: number;
  /**
   * Whether `maxTtl` and the epoch belong to the master's current memory: this process, this database, nothing
   * forgotten.
   */
  readonly isCurrent: boolean;
  /** Whether the fencing counters are complete and belong to the current memory. */
  readonly isReady: boolean;
  /** An upper bound of all fencing tokens that the master stored. */
  readonly floor: number;
}

/** Where the records of owners are kept: by commands beside the questions, which no question waits for. */
export interface RecordStore {
  /** Identifies the connection; `undefined` if nothing can be sent now. */
  readonly session: number | undefined;
  /** That of the client, which keys within a script do not get. */
  readonly keyPrefix?: string | undefined;
  /** Whether keys of one command have to be in one hash slot. */
  readonly isCluster: boolean;
  /** As {@link Connection.send}. */
  send(command: string, args: readonly (string | number)[]): Promise<unknown>;
  /** Those who wait for a key, in their order, at most 50: masked. */
  waitersOf(key: string): Promise<readonly string[]>;
  /** The shared claims on a key, at most 50: masked, and the ms that each has left. */
  readersOf(key: string): Promise<readonly (readonly [token: string, remaining: number])[]>;
}

/** The server behind a master's connection at present. */
export interface MasterServer {
  /**
   * Identifies the server, or the servers of a Cluster: the same for all addresses and databases of one server. Known
   * before anything is sent on the connection. Empty if it cannot be determined.
   */
  readonly ids: readonly string[];
  /**
   * While `refusal` is set, every request except deletions is answered with it and not sent: the server votes through
   * another node. `undefined` ends this, but not for claims that waited for the connection when it was set (PROTOCOL 2.10).
   */
  refuseVotes(refusal: Fault | undefined): void;
}

/** The state of a resource on one master. */
export interface KeyState {
  readonly is: "state";
  /** The token that holds the key, `masked`; `undefined` if it is free. */
  readonly owner: string | undefined;
  readonly remaining: number;
  /** The length of the queue. */
  readonly queueLength: number;
}

/**
 * One Redis master, as the protocol sees it: the only interface that a client library has to meet.
 *
 * Rules for every implementation, checked by the contract suite:
 * - *One FIFO connection.* Commands reach the master in the order of the calls, so a release undoes the vote before
 *   it. A call sends immediately if the connection is ready (nothing is awaited first).
 * - *No late execution.* A command is sent on the connection of the call or not at all: no offline queue, no
 *   resending after a reconnect.
 * - *A first connection is waited for*, within the round's timeout; a lost one is an immediate {@link Fault}.
 * - *Answers are values*, one for each question: no reply and no failure of a master throws. They go to a sink: a
 *   lock sends ten requests, and promises would be most of their cost.
 */
export interface LockNode {
  /** For messages: `host:port`. */
  readonly name: string;
  /** The client that the user passed for this master: the key of `votesFor` and `votesAgainst`. */
  readonly client: object;
  /** The number of the database that its keys are in. Default 0. */
  readonly database?: number | undefined;
  /**
   * Returns why these resources cannot be locked here: with the client's `keyPrefix` one is a key of this library's own, or
   * they are not in one hash slot of a Cluster. `undefined` if they can. (Names that begin with `quorlock:` are refused before.)
   */
  refuses?(resources: readonly string[]): string | undefined;
  /** Asks the master. Its answer goes to the sink, with `place`: the caller's number of this master. */
  ask(question: Question, place: number, sink: Sink): void;
  /** Whether the master stores the fencing tokens that claims propose. */
  readonly keepsCounters?: boolean;
  /** Makes waiting fair. Without a queue, waiting means asking again. */
  readonly queue?: LockQueue | undefined;
  /**
   * From now on every request to the master carries the terms of `guard` (PROTOCOL 9), and the node knows the verbs
   * `guardState` and `restoreCounters`. Missing if the master cannot be guarded.
   */
  watchGuard?(guard: Guard): void;
  /**
   * From now on the master's clock is read with the votes (PROTOCOL 11.1), and if `judge` judges votes, every vote is
   * {@link Timed}. Missing if the clock cannot be read.
   */
  watchClock?(judge: ClockJudge): void;
  /** Missing if the clock cannot be read. */
  readonly clock?: ClockReadings;
  /** The server behind the connection (PROTOCOL 2.8). Missing if servers are not compared. */
  readonly server?: MasterServer;
  /** Missing if the master keeps no records of owners. */
  readonly records?: RecordStore;
  /**
   * Executes what claims, extensions and releases execute, on a key that nobody locks: it changes nothing. Missing if that is
   * what goes through `records`, or is not known.
   */
  tryNeeds?(key: string): Promise<ReadonlyArray<PromiseSettledResult<unknown>>>;
  /**
   * Calls `listener` whenever the client is switched to another database: immediately, before anything can be sent
   * there. From then on nothing is sent to the previous one. The listener is called for as long as its owner keeps a
   * reference to it. Missing if this is not supported.
   */
  onMove?(listener: (why: string) => void): void;
  /**
   * The last time at which the master answered while questions waited for room, or had no answer yet since they
   * waited, by the monotonic clock. A missing answer soon after that is not the master's fault: the request waits
   * behind others of this client. Missing if nothing waits.
   */
  readonly drainedAt?: number;
  /** Calls `listener` whenever the master becomes reachable. Returns a function that removes the listener. */
  onReady(listener: () => void): () => void;
  /**
   * Ends the connections that the node has opened beside the user's client, after what was just sent, and leaves that client
   * open: for `quit({ keepClients: true })`. Nothing is sent afterwards. Missing: there are none.
   */
  leave?(): void;
  /** Closes the connection and the user's client after pending commands. */
  close(): Promise<void>;
  /** Closes both immediately. */
  disconnect(): void;
}
