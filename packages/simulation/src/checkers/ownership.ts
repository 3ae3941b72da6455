import type { Process } from "../engine/process.ts";
import type { Write } from "../master/keyspace.ts";
import type { Master, MasterListener } from "../master/master.ts";
import {
  exclusive,
  isSharable,
  isShared,
  membersOf,
  ownPrefix,
  queueOf,
  queuePrefix,
} from "../master/own-keys.ts";
import type { Cluster } from "../run/cluster.ts";
import { Marks } from "./marks.ts";
import { enqueuesIn } from "./queue-entries.ts";
import { isMine, type TokenOwners, waiterOf } from "./token-owners.ts";

/**
 * Only the client that cast a live vote, or received it by a grant, may change or remove it: releases compare, votes
 * do not overwrite, and a command touches only votes of rounds up to its own. When an owner gives a vote up, a master
 * may grant it to a waiter, which is notified or keeps its queue entry. This is checked at the master, where a
 * violation shows before any client relies on it.
 */
export class Ownership implements MasterListener {
  readonly #run: Cluster;
  readonly #master: Master;
  readonly #owners: TokenOwners;
  readonly #marks: Marks;
  /** Of each place in a queue, by its key. */
  readonly #rounds = new Map<string, number>();
  /** In the command that is being executed: tokens whose votes were changed by their own client. */
  #changed: string[] = [];
  /** The same: keys of votes that were written. */
  readonly #written = new Set<string>();
  /** The same: votes that were cast or given. */
  #votes: { readonly key: string; readonly token: string }[] = [];
  /** The same: grants that were published, and the number of receivers. */
  #pushed: { readonly token: string; readonly listeners: number }[] = [];

  constructor(run: Cluster, master: Master, owners: TokenOwners) {
    this.#run = run;
    this.#master = master;
    this.#owners = owners;
    this.#marks = new Marks(run.findings, master);
  }

  published(message: string, listeners: number): void {
    // (Behind the token there may be a fencing counter.)
    const [token] = message.split(" ", 1) as [string];
    if (token === "wake") return;
    this.#pushed.push({ token, listeners });
    if (!this.#votes.some((vote) => isOf(vote, token) && this.#stands(vote)))
      this.#violated(`${token} was told of a key before the key said so`);
  }

  wasTwice(key: string): void {
    this.#run.findings.violated("error", `${key} is on both masters of a slot that moves`);
  }

  writeMet(isRefused: boolean): void {
    this.#run.findings.reached(isRefused ? "write refused" : "write let through");
  }

  wrote(write: Write, sender: Process): void {
    this.#owners.wrote(write, sender);
    this.#marks.wrote(write, sender);
    this.#run.see({ is: "wrote", master: this.#master, write, sender });
    const { key, entry, previous } = write;
    if (key.startsWith(queuePrefix)) this.#placeChanged(write, sender);
    if (isShared(key)) this.#sharesChanged(write, sender);
    if (key.startsWith(ownPrefix) && !isSharable(key)) return;
    this.#written.add(key);
    const [token, before] = [entry?.value, previous?.value];
    if (typeof before === "string" && token !== before) this.#voteChanged(write, before, sender);
    if (typeof token !== "string" || token === before) return;
    this.#voteGiven(key, token, sender);
  }

  #voteGiven(key: string, token: string, sender: Process): void {
    this.#votes.push({ key, token });
    const owner = this.#owners.of(token);
    if (owner === undefined || owner === sender) return;
    this.#run.findings.reached("handed over");
    this.#run.triggerPoints.raise("handed over", { client: owner, master: this.#master });
  }

  /** Those who have a shared claim: each by the name that the tokens of all its rounds have. */
  #sharesChanged(write: Write, sender: Process): void {
    const now = this.#master.process.wallNow();
    const [before, after] = [write.previous, write.entry].map((entry) => new Map(membersOf(entry)));
    // (A dead one stays in the set until others remove it.)
    for (const name of after!.keys())
      if ((before!.get(name) ?? -1) < now) this.#voteGiven(write.key, name, sender);
    for (const [name, expiry] of before!)
      if (!after!.has(name) && expiry >= now) this.#voteChanged(write, name, sender);
  }

  ran(_command: string, args: readonly (string | number)[], reply: unknown, sender: Process): void {
    this.#marks.ran(args, reply, sender);
    for (const token of this.#changed) {
      if (args.includes(token)) continue;
      if (args.some((arg) => typeof arg === "string" && (isMine(token, arg) || waiterOf(arg) === token)))
        continue;
      this.#violated(`${sender.name} took its own vote ${token} by a command of an earlier round`);
    }
    for (const vote of this.#votes) {
      const isUnheard = this.#pushed.some(({ token, listeners }) => isOf(vote, token) && listeners === 0);
      if (isUnheard && this.#stands(vote))
        this.#violated(`"${vote.key}" was given to ${waiterOf(vote.token)}, who does not listen`);
    }
    this.#run.see({ is: "ran", master: this.#master, written: this.#written });
    this.#written.clear();
    this.#changed = [];
    this.#votes = [];
    this.#pushed = [];
    for (const { keys, token, isGranted } of enqueuesIn(args, reply)) {
      this.#run.see({ is: "enqueued", token });
      // (An entry without its place is dead: while a slot moves, a place may go before its entry has moved.)
      const stays = isGranted && keys.some((key) => this.#isInQueue(key, waiterOf(token)));
      if (stays) this.#violated(`${sender.name} was granted ${keys.join(", ")} and still waits for it`);
    }
  }

  #isInQueue(key: string, waiter: string): boolean {
    return membersOf(this.#master.peek(queueOf(exclusive(key)))).some(([name]) => name === waiter);
  }

  #stands({ key, token }: { readonly key: string; readonly token: string }): boolean {
    const entry = this.#master.peek(key);
    return isShared(key) ? new Map(membersOf(entry)).has(token) : entry?.value === token;
  }

  #voteChanged({ key, entry }: Write, before: string, sender: Process): void {
    const owner = this.#owners.of(before);
    // A grant that no listener received goes to the next waiter.
    const isUnheard = this.#pushed.some(
      ({ token, listeners }) => listeners === 0 && (token === before || waiterOf(token) === before),
    );
    if (isUnheard) return;
    if (owner === sender || this.#owners.hasReceived(sender, before)) this.#changed.push(before);
    else if (owner !== undefined && !isOfOne(before, entry?.value)) {
      const deed = entry === undefined ? "deleted" : "overwrote";
      this.#violated(`${sender.name} ${deed} the vote of ${owner.name} for "${key}"`);
    }
  }

  /** A place in a queue: an entry, which begins with its round. */
  #placeChanged({ key, entry }: Write, sender: Process): void {
    if (typeof entry?.value !== "string") return;
    const round = Number.parseInt(entry.value, 10);
    if (round === this.#rounds.get(key)) this.#violated(`${sender.name} enrols in round ${round} again`);
    this.#rounds.set(key, round);
  }

  #violated(what: string): void {
    this.#run.findings.violated("ownership", `${what}, on ${this.#master.name}`);
  }
}

/** Whether the master has this vote for the token: a shared one is known by the name of its waiter. */
function isOf(vote: { readonly key: string; readonly token: string }, token: string): boolean {
  return vote.token === (isShared(vote.key) ? waiterOf(token) : token);
}

/** The vote stays with one lock, which was detached meanwhile: an earlier round's becomes that of a later one. */
function isOfOne(before: string, after: unknown): boolean {
  return typeof after === "string" && waiterOf(after) === waiterOf(before);
}
