import type { NodeError } from "../errors.ts";

/** The key of every resource holds the token, and lives at least `remaining` ms from the moment of the answer. */
export interface Yes {
  readonly vote: "yes";
  readonly remaining: number;
  /** The largest fencing counter of the resources before the proposal was stored; only where there was a proposal. */
  readonly counter?: number;
  /**
   * The master may have forgotten whom it has voted for (PROTOCOL 9): it counts where it is known to have kept the
   * votes of this hold until now, for then it had none for anybody else.
   */
  readonly inQuarantine?: boolean;
}

/** Refused: `resource` holds another token, or (where nothing may be set) none. */
export interface No {
  readonly vote: "no";
  readonly resource: string;
  /** The token that is there; `undefined` where the key is free. */
  readonly owner: string | undefined;
  /** How long that key still lives, ms; 0 where it is free, `Infinity` for a key without expiry. */
  readonly remaining: number;
  /** Whether the keys hold the token all the same: it was refused for the sake of another key, and is to be taken back. */
  readonly isSet?: boolean;
  /** The largest ticket in the queue for it, where the claim was enrolled. */
  readonly latestTicket?: number | undefined;
}

/** No vote. The key may hold the token all the same, unless nothing was sent. */
export interface Fault {
  readonly vote: "none";
  readonly error: NodeError;
  /** Whether the command may have reached the master. */
  readonly sent: boolean;
}

export type Answer = Yes | No | Fault;

/** What a release met: the keys that held the token and are gone now, or not (all of) them. */
export type ReleaseAnswer = { readonly vote: "yes" | "no" } | Fault;

/** One request, put to every master alike; see {@link RoundClaim}. */
export interface Claim {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttl: number;
  /**
   * A fencing token: who grants the claim stores it as the counter of each resource, in the same step, unless a larger
   * one is there (PROTOCOL 8). A node that cannot answers without a `counter`.
   */
  readonly proposal?: number | undefined;
  /**
   * The caller gave up, or its hold has ended. What has not been sent by now must not be: sent behind the
   * roll-back or the release, it would set a key that nobody takes away again.
   */
  readonly abandoned: boolean;
}

/** A claim that waits: where it is refused it has a place in the queue of each resource from then on. */
export interface QueueEntry extends Claim {
  /** Smaller is served first, on every master alike. */
  readonly ticket: number;
  /** How long the place lasts unless it is asked for again, ms. */
  readonly entryTtl: number;
}

/** One question that is put to several masters alike, and made once for all of them. */
export interface Question {
  /** `repair`: an extension that sets free keys as well. */
  readonly kind: "vote" | "extend" | "repair" | "release";
  readonly keys: readonly string[];
  /** The token of a claim, or all tokens of a release. */
  readonly words: readonly string[];
  /** ms; 0 for a release. */
  readonly ttl: number;
  /** What was given up is not sent any more. `undefined` for a release, which has to be sent in any case. */
  readonly claim: Claim | undefined;
  /** Told what the master of `client` says, once for each that was asked: perhaps before the call has returned. It must not throw. */
  hear(client: object, answer: Answer | ReleaseAnswer | Timed<Answer>): void;
}

/** Told the answer to a call, once: perhaps before the call has returned. It must not throw. */
export type Settle<A> = (answer: A | Fault) => void;

/** Both clocks of this client, ms. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** A master's clock, read over the network: how far it is ahead of each of ours. */
export interface Reading {
  readonly sent: Moment;
  readonly heard: Moment;
  readonly ofMonotonic: number;
  readonly ofWall: number;
  readonly uncertainty: number;
}

/** The clock of one master, as far as this client knows it (PROTOCOL 11). */
export interface MasterClock {
  readonly node: string;
  /** Whether a vote has to wait for a reading of its own. */
  readonly judgesVotes: boolean;
  /** Two clocks agree that are no further apart, ms. */
  readonly maxOffset: number;
  /** Whether a key may have expired early since its clock stepped, and its holder still counts on it. */
  readonly hasSteppedLately: boolean;
  now(): Moment;
  /** A lock of this ttl is asked for, ms. */
  askedFor(ttl: number): void;
  /** It has shown `time`, ms, at some moment since `sent`. */
  hear(sent: Moment, time: number): Reading;
  /** Its keys may have expired early. */
  distrust(): void;
}

/**
 * A vote of a master whose clock is to be judged before it counts, with the clock as it was read behind the vote. It is
 * no answer: nothing but the clocks of its round makes it one (PROTOCOL 11; see `RoundClocks`).
 */
export interface Timed<A> {
  readonly vote: A;
  readonly clock: MasterClock;
  readonly reading: Reading;
}

/** Told what a master says to a claim, once; as {@link Settle}. */
export type SettleVote = (vote: Answer | Timed<Answer>) => void;

/** What a master tells one that waits. */
export interface Push {
  /** `grant`: its key holds `token` now, which is its vote. `wake`: what was in its way is set aside for it. */
  readonly kind: "grant" | "wake";
  readonly token: string;
  /** As in {@link Yes}. */
  readonly counter?: number | undefined;
}

export type Hear = (push: Push | Timed<Push>) => void;

/** What a master offers to those who wait (PROTOCOL 7). */
export interface LockQueue {
  /**
   * Votes where all keys are free, or hold a token of an earlier round of the same waiter, and nobody waits before
   * it. If not, it has its place, and what it was given in an earlier round goes to whoever is first.
   */
  enqueue(enrolment: QueueEntry, settle: SettleVote): void;
  /** Votes for the claim where the keys hold its token, or `previous`, or nothing: a hold passed on in one step. */
  swap(claim: Claim, previous: string, settle: SettleVote): void;
  /**
   * Listens from now on, on a connection of its own, for what this master grants. Settles when it is known whether it can.
   * `onChange` is called whenever it begins or ceases to listen: what was granted meanwhile may have been missed, and a
   * queue entry names an inbox that nobody hears.
   */
  listen(channel: string, hear: Hear, onChange: () => void): Promise<void>;
  /** Whether what is handed over is heard now. Where it is not, enrolments are told so, and find it by asking again. */
  readonly isListening: boolean;
}

/** The restart guard of one client at one master; see `MasterGuard`. */
export interface Guard {
  /** As the scripts take them. */
  readonly terms: string;
  /** The master gave no vote to a claim, or was not asked. */
  refused(error: NodeError): void;
}

/** What the restart guard of a master knows. */
export interface GuardState {
  /** The longest ttl that was agreed on, ms; 0 where the master is new, or was emptied. */
  readonly maxTtl: number;
  /** How long it votes for nobody, ms. */
  readonly quarantine: number;
  /** Names its latest loss of memory, and is larger than those before. */
  readonly epoch: number;
  /** Whether `maxTtl` and the epoch are of the memory that it has now: this process, this database, nothing forgotten. */
  readonly isCurrent: boolean;
  /** Whether its fencing counters are complete, and of this memory. */
  readonly isSound: boolean;
  /** No fencing token that it stored is larger. */
  readonly floor: number;
}

/** A master that a restart guard can watch over. */
export interface GuardedMaster {
  /** From now on `guard` watches over whatever is asked. */
  watchWith(guard: Guard): void;
  /** What the guard knows. With `guard`, after it has been there. */
  state(guard: Guard | undefined, settle: Settle<GuardState>): void;
  /** Its counters are complete with this floor, if it has not lost its memory again since `epoch`. */
  restoreCounters(epoch: string, floor: number, settle: Settle<ReleaseAnswer>): void;
}

/** The server that a master leads to at present. */
export interface MasterServer {
  /**
   * What names it, or the servers of a Cluster: the same for all addresses and databases of one server. Known before anything
   * is sent on the connection. Empty where it cannot be told.
   */
  readonly ids: readonly string[];
  /**
   * From now on, until it is `undefined`, whatever is asked is answered with `refusal`, unsent, but for what takes keys away: the
   * server votes through another node.
   */
  refuseVotes(refusal: Fault | undefined): void;
}

/** What one master says about a resource. */
export interface Holding {
  readonly owner: string | undefined;
  readonly remaining: number;
  /** How many wait for it. */
  readonly queueLength: number;
}

/**
 * One Redis master, as the protocol sees it: the only interface that a client library has to meet.
 *
 * What a master keeps to, and the contract suite checks:
 * - *One FIFO connection.* Commands reach the master in the order of the calls, so a release undoes the vote
 *   before it. A call sends at once where the connection stands (nothing awaited first).
 * - *No late execution.* A command is sent on the connection of the call or not at all: no offline queue, no
 *   resending after a reconnect.
 * - *A first connection is waited for*, by the round's own time-out; a lost one is a {@link Fault} at once.
 * - *Answers are values*, and each call comes to one: nothing a master says or fails to say is thrown. They are told to
 *   a callback: a lock asks ten times, and promises are most of what that would cost.
 */
export interface LockNode {
  /** For messages: `host:port`. */
  readonly name: string;
  /** What the user passed for this master: the key of `votesFor` and `votesAgainst`. */
  readonly client: object;
  /** The number of the database that its keys are in. Default 0. */
  readonly database?: number | undefined;
  /**
   * Why these resources cannot be locked here: one is a key of this library's own, or they are not in one slot of a
   * Cluster. Or nothing. Where there is no such method names that begin with `quorlock:` are refused.
   */
  refuses?(resources: readonly string[]): string | undefined;
  /** Sets every key that is free or holds the token, for at least `ttl`; or none of them. */
  vote(claim: Claim, settle: SettleVote): void;
  /** Renews every key that holds the token, for at least `ttl`; with `repair`, free ones are set as well. */
  extend(claim: Claim, repair: boolean, settle: SettleVote): void;
  /**
   * The same as `vote`, `extend` and `release`, for a question that goes to several masters. Missing where nothing is saved
   * by it: then each master is asked by a call of its own. (A wrapper of a node wraps or hides this one as well.)
   */
  ask?(question: Question): void;
  /** Whether it stores what claims propose as fencing tokens. */
  readonly keepsCounters?: boolean;
  /** What makes waiting fair; where there is none, waiting is asking again. */
  readonly queue?: LockQueue | undefined;
  /**
   * Gives up the keys that hold one of the tokens, or a token of an earlier round of one. Where there is a queue, its
   * first gets them, and whoever one of the tokens belongs to leaves it.
   */
  release(resources: readonly string[], tokens: readonly string[], settle: Settle<ReleaseAnswer>): void;
  inspect(resource: string, settle: Settle<Holding>): void;
  /** What the restart guard needs of it (PROTOCOL 9). Missing where it cannot be guarded. */
  readonly guarded?: GuardedMaster;
  /**
   * From now on its clock is read with the votes (PROTOCOL 11), and where it judges them every vote is {@link Timed}.
   * Missing where it cannot be.
   */
  watchClock?(clock: MasterClock): void;
  /** Which server it leads to (PROTOCOL 2.8). Missing where servers are not compared. */
  readonly server?: MasterServer;
  /**
   * Calls `listener` whenever its client is switched to another database: at once, before anything can be sent there.
   * Through `old` the database that was left can be reached for a little while, to take back what is there; this node
   * leads to the other one. The listener is called for as long as whoever gave it keeps it. Missing where that cannot be.
   */
  onMove?(listener: (why: string, old: LockNode) => void): void;
  /**
   * When it last answered while operations had to wait for room, or had no answer yet since they had to wait, by the
   * monotonic clock. What has no answer soon after that stands in line behind others of this client: no fault of the
   * master's. Missing where nothing waits.
   */
  readonly drainedAt?: number;
  /** Called whenever the master can be reached (again). Returns how to take the listener away. */
  onReady(listener: () => void): () => void;
  /** Ends the connection, and the user's client, in order. */
  close(): Promise<void>;
  /** Ends both at once. */
  disconnect(): void;
}
