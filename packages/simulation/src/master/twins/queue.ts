import { type Reply, ReplyError } from "../reply.ts";
import { claim, masked } from "./claims.ts";
import { exclusiveOnly, type Family } from "./family.ts";
import { counterOf, raise } from "./fence.ts";
import { type Rules, roundOf } from "./rules.ts";
import { type Call, scriptError } from "./twin.ts";

/** Everything that a master keeps besides the locks themselves begins so. */
export const ownPrefix = "quorlock:";
/** Everything that belongs to queues, and nothing else, begins so. */
export const queuePrefix = "quorlock:queue:";

/** `queueOf` in the scripts. */
export function queueOf(key: string): string {
  return /^[^{]*\{[^}]+\}/.test(key) ? `${queuePrefix}tagged:${key}` : `${queuePrefix}{${key}}`;
}

/** `entryNameOf` in the scripts. */
export function entryNameOf(queue: string, waiter: string): string {
  return `${queue}:${shortNameOf(waiter)}`;
}

/** The number of characters of a waiter in the name of its entry. */
export function shortNameOf(waiter: string): string {
  return waiter.slice(0, 20);
}

/** A claim that waits where it is refused. */
export interface QueueEntry {
  readonly token: string;
  /** As the script is sent them. */
  readonly ttl: string;
  readonly ticket: string;
  readonly patience: string;
  /** The fencing token that is proposed; empty for none. */
  readonly proposal: string;
  readonly inbox: string;
}

/** The data of a queue entry beside its ticket. */
interface Entry {
  readonly waiter: string;
  readonly token: string;
  readonly ttl: string;
  readonly inbox: string;
  readonly proposal: string;
  readonly how: string;
}

/** As the script: it looks at no more of a queue than this, and at no more than `maxSwept` members of all. */
const sweeps = 8;
const swept = 128;
const maxSwept = 4096;
const maxSkips = 256;

/** The ticket queue of one master, in one call of a script: `queue` and the functions behind it, name by name. */
export class Queue {
  readonly #rules: Rules;
  readonly #call: Call;
  /** (Of one operation; in a batch the script counts all of them. No run of the simulator comes near it.) */
  #unswept = maxSwept;
  #skips = maxSkips;

  /** Whether the master has its fencing counters. */
  readonly #isSeeded: boolean;
  readonly #family: Family;

  constructor(rules: Rules, call: Call, isSeeded = true, family: Family = exclusiveOnly(call)) {
    this.#rules = rules;
    this.#call = call;
    this.#isSeeded = isSeeded;
    this.#family = family;
  }

  /** `queueOf` in the scripts. */
  #queueOf(key: string): string {
    return queueOf(this.#family.exclusive(key));
  }

  /** The ticket behind an entry that {@link enqueue} has granted. */
  next: string | undefined;

  enqueue(keys: readonly string[], queueEntry: QueueEntry): Reply {
    const { token, ttl } = queueEntry;
    if (this.#rules.heldStay && keys.some((key) => this.#family.ownerFor(key, token) === token)) {
      const held = roundOf(token);
      if (!held) throw new ReplyError("ERR Lua redis lib command arguments must be strings or integers");
      this.#forgetIn(keys, held.waiter);
      return claim(this.#rules, this.#call, keys, token, ttl, { create: false, family: this.#family });
    }
    const isTaken = keys.map((key) => !this.#isFreeFor(token, key));
    const blocked = isTaken.indexOf(true);
    if (
      blocked < 0 &&
      keys.map((key) => this.#call("EXISTS", this.#queueOf(key))).every((waits) => waits === 0)
    )
      return this.#claim(keys, token, ttl);
    const own = roundOf(token);
    if (!own) throw scriptError("a token without a round");
    const isFirst = keys.map((key, index) => {
      this.#enter(key, own, queueEntry);
      // A look at the head removes entries: only where the script looks.
      if (isTaken[index]) return false;
      const takesTurns = this.#rules.takesTurns(this.#family.shared?.isShared(key) === true);
      return !takesTurns || this.#headOf(this.#queueOf(key), own.waiter)?.waiter === own.waiter;
    });
    const waitsFor = keys.findIndex((_, index) => !isTaken[index] && !isFirst[index]);
    const inTheWay = blocked < 0 ? waitsFor : blocked;
    const refusal = inTheWay < 0 ? undefined : this.#refusal(keys, queueEntry, isTaken, isFirst, inTheWay);
    // (None where only dead waiters were in the way.)
    if (refusal !== undefined) return refusal;
    this.#forgetIn(keys, own.waiter);
    return this.#claim(keys, token, ttl);
  }

  leave(keys: readonly string[], tokens: readonly string[]): number {
    for (const key of keys) this.#forgetAll(key, tokens);
    let given = 0;
    for (const key of keys) {
      const { shared } = this.#family;
      const owner = shared ? null : this.#family.ownerFor(key, "");
      if (shared ? shared.dropAll(key, tokens) : tokens.some((token) => this.#rules.isMine(owner, token)))
        given += 1;
      else if (!shared) continue;
      this.give(key);
    }
    return given;
  }

  #forgetAll(key: string, tokens: readonly string[]): void {
    for (const token of tokens) {
      const left = roundOf(token);
      if (!left) continue;
      const text = this.#call("GET", entryNameOf(this.#queueOf(key), left.waiter)) as string | null;
      if (text !== null && Number.parseInt(text, 10) <= left.round) this.#forget(key, left.waiter);
    }
  }

  /** Removes the entries of a waiter that is granted its keys, and looks who is next. */
  #forgetIn(keys: readonly string[], waiter: string): void {
    const behind = keys.flatMap((key) => {
      if (this.#rules.grantedLeave) this.#forget(key, waiter);
      return this.#ticketAt(this.#queueOf(key), "0") ?? [];
    });
    this.next = behind.reduce<string | undefined>(
      (least, ticket) => (least === undefined || Number(ticket) < Number(least) ? ticket : least),
      undefined,
    );
    const { shared } = this.#family;
    // After the entries are gone: where they cannot be removed, nobody is given anything.
    if (shared?.isShared(keys[0]!)) shared.joined = keys[0];
  }

  #ticketAt(line: string, index: string): string | undefined {
    const [, ticket] = this.#call("ZRANGE", line, index, index, "WITHSCORES") as readonly string[];
    return ticket;
  }

  #claim(keys: readonly string[], token: string, ttl: string): Reply {
    return claim(this.#rules, this.#call, keys, token, ttl, { create: true, family: this.#family });
  }

  #isFreeFor(token: string, key: string): boolean {
    const owner = this.#family.ownerFor(key, token);
    return owner === null || this.#rules.isMine(owner, token);
  }

  /** Only in a mutant: it stands in the queue, whatever is free. */
  stand(keys: readonly string[], queueEntry: QueueEntry): void {
    for (const key of keys) {
      this.#enter(key, roundOf(queueEntry.token)!, queueEntry);
      this.#writeEntry(key, queueEntry, "g");
    }
  }

  #enter(key: string, { waiter, round }: { waiter: string; round: number }, queueEntry: QueueEntry): void {
    const { ticket, patience } = queueEntry;
    const line = this.#queueOf(key);
    this.#call("ZADD", line, ticket, waiter);
    if ((this.#call("PTTL", line) as number) < Number(patience))
      this.#call("PEXPIRE", line, String(2 * Number(patience)));
    if (round === 1 && ticket.endsWith("0")) this.#sweep(line, 1, 80, waiter);
  }

  #writeEntry(key: string, { token, ttl, inbox, proposal, patience }: QueueEntry, how: string): void {
    const { waiter, round } = roundOf(token)!;
    const text = `${round} ${ttl} ${inbox} ${proposal} ${how}`;
    this.#call("SET", entryNameOf(this.#queueOf(key), waiter), text, "PX", patience);
  }

  /** Grants free keys to the first waiter; the first key that another client has refuses. */
  #refusal(
    keys: readonly string[],
    queueEntry: QueueEntry,
    isTaken: readonly boolean[],
    isFirst: readonly boolean[],
    inTheWay: number,
  ): Reply | undefined {
    const { token, patience } = queueEntry;
    let refusal: Reply | undefined;
    for (const [index, key] of keys.entries()) {
      const ofSeveral = index === inTheWay ? "w" : "s";
      const { shared } = this.#family;
      const how = shared?.isShared(key) ? "r" : keys.length === 1 ? "g" : ofSeveral;
      this.#writeEntry(key, queueEntry, how);
      if (isFirst[index]) {
        this.#reserve(key, token, Number(patience), queueEntry.ttl);
        continue;
      }
      if (!isTaken[index] && this.#rules.refusedYield) {
        shared?.drop(key, token);
        this.give(key);
      }
      if (refusal !== undefined) continue;
      const owner = this.#family.ownerFor(key, token);
      if (this.#rules.isMine(owner, token)) continue;
      const [, latest] = this.#call(
        "ZRANGE",
        this.#queueOf(key),
        "-1",
        "-1",
        "WITHSCORES",
      ) as readonly Reply[];
      refusal = [
        index + 1,
        masked(owner ?? (shared ? shared.ownerFor(shared.exclusive(key), token) : null)),
        this.#family.leftOf(key),
        ...(latest === undefined ? [] : [latest]),
      ];
    }
    return refusal;
  }

  /** `refusalByWaiters` in the scripts. */
  refusalByWaiters(key: string, token: string): Reply | undefined {
    const { shared } = this.#family;
    if (!shared?.isShared(key) || shared.ownerFor(key, token) !== null) return undefined;
    const marked = this.#rules.markKeepsReadersOut ? shared.markedFor(key) : undefined;
    if (marked !== undefined) return [1, "writers", marked];
    if (!this.#rules.waitersRefuseReaders) return undefined;
    const line = this.#queueOf(key);
    const head = this.#headOf(line);
    return head && [1, masked(head.token), this.#call("PTTL", entryNameOf(line, head.waiter))];
  }

  #headOf(line: string, asking?: string): Entry | undefined {
    const [first] = this.#call("ZRANGE", line, "0", "0") as readonly string[];
    if (first === undefined) return undefined;
    if (first === asking) return entryOf(first, "");
    const text = this.#call("GET", entryNameOf(line, first)) as string | null;
    if (text !== null) return entryOf(first, text);
    for (let count = 0; count < sweeps; count += 1) {
      const { head, length } = this.#sweep(line, 0, swept - 1, asking);
      if (head || length < swept) return head;
    }
    return undefined;
  }

  /** The first live waiter of these, and their number. Dead ones are removed. */
  #sweep(
    line: string,
    from: number,
    to: number,
    asking?: string,
  ): { head: Entry | undefined; length: number } {
    if (this.#unswept <= 0) return { head: undefined, length: 0 };
    const waiters = this.#call("ZRANGE", line, String(from), String(to)) as readonly string[];
    if (waiters.length === 0) return { head: undefined, length: 0 };
    this.#unswept -= waiters.length;
    const texts = this.#call("MGET", ...waiters.map((waiter) => entryNameOf(line, waiter))) as (
      | string
      | null
    )[];
    const lives = waiters.map((waiter, index) => texts[index] !== null || waiter === asking);
    const dead = waiters.filter((_, index) => !lives[index]);
    if (dead.length > 0) this.#call("ZREM", line, ...dead);
    const first = lives.indexOf(true);
    const head = first < 0 ? undefined : entryOf(waiters[first]!, texts[first] ?? "");
    return { head, length: waiters.length };
  }

  #forget(key: string, waiter: string): void {
    const line = this.#queueOf(key);
    if (this.#call("ZREM", line, waiter) === 1) this.#call("DEL", entryNameOf(line, waiter));
  }

  give(given: string): void {
    const { shared } = this.#family;
    let key = given;
    if (!shared) this.#call("DEL", key);
    const line = this.#queueOf(key);
    let isSet = false;
    for (;;) {
      const head = this.#headOf(line);
      if (!head || this.#skips === 0) {
        if (isSet && !shared) this.#call("DEL", key);
        return;
      }
      if (shared) key = head.how === "r" ? shared.readers(key) : shared.exclusive(key);
      const isTold = head.how !== "" && head.inbox !== "-";
      if (head.how === "" || (isTold && !this.#isSubscribed(head.inbox))) this.#forget(key, head.waiter);
      else if (shared && this.#rules.grantsWhatIsFree && shared.ownerFor(key, head.token) !== null) return;
      else if (isTold && (shared || head.how === "g") && (this.#isSeeded || head.proposal === "")) {
        const told = this.#grant(key, head);
        const isOver = told === undefined || this.#rules.isSubscribed(told);
        isSet = true;
        if (told === undefined) this.#reserveFor(key, head);
        else if (!isOver || this.#rules.grantedLeave) this.#forget(key, head.waiter);
        if (isOver && !(shared && head.how === "r")) return;
        if (shared && !isOver) shared.drop(key, head.token);
      } else {
        this.#reserveFor(key, head);
        if (isTold && head.how === "w") this.#push(head.inbox, `wake ${head.token}`);
        return;
      }
      this.#skips -= 1;
    }
  }

  /** The number of listeners that were notified; undefined if publishing is forbidden. */
  #grant(key: string, { token, ttl, inbox, proposal }: Entry): number | undefined {
    const counted = [this.#family.exclusive(key)];
    const counter = proposal === "" ? undefined : counterOf(this.#call, counted);
    const message = `${token} ${counter ?? "-"} ${this.#ticketAt(this.#queueOf(key), "1") ?? "-"}`;
    const early = this.#rules.pushesFirst ? this.#push(inbox, message) : undefined;
    this.#family.set(key, token, ttl);
    if (counter !== undefined) raise(this.#call, counted, this.#rules.stored(counter, Number(proposal)));
    return early ?? this.#push(inbox, message);
  }

  #reserveFor(key: string, { waiter, token, ttl }: Entry): void {
    this.#reserve(key, token, this.#call("PTTL", entryNameOf(this.#queueOf(key), waiter)) as number, ttl);
  }

  #reserve(key: string, token: string, lives: number, ttl: string): void {
    this.#family.set(key, token, String(Math.max(1, Math.min(lives, Number(ttl)))));
  }

  /** Also where it may not be asked. */
  #isSubscribed(inbox: string): boolean {
    const [, listeners] = (this.#pcall("PUBSUB", "NUMSUB", inbox) ?? [inbox, 1]) as readonly [string, number];
    return this.#rules.isSubscribed(listeners);
  }

  #push(inbox: string, message: string): number | undefined {
    return this.#pcall("PUBLISH", inbox, message) as number | undefined;
  }

  /** `undefined` for an error reply. */
  #pcall(command: string, ...args: readonly string[]): Reply | undefined {
    try {
      return this.#call(command, ...args);
    } catch (error) {
      if (error instanceof ReplyError) return undefined;
      throw error;
    }
  }
}

/** One that is none of ours has no `how`. */
function entryOf(waiter: string, text: string): Entry {
  const [, round, ttl = "", inbox = "", proposal = "", how = ""] =
    /^(\d+) (\d+) ([^\s]+) (\d*) ([gwsr])$/.exec(text) ?? [];
  return { waiter, token: `${waiter}.${round}`, ttl, inbox, proposal, how };
}
