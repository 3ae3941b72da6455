import { type Reply, ReplyError } from "../reply.ts";
import { claim } from "./claims.ts";
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

/** A claim that waits where it is refused. */
export interface Enrolment {
  readonly token: string;
  /** As the script is sent them. */
  readonly ttl: string;
  readonly ticket: string;
  readonly patience: string;
  /** The fencing token that is proposed; empty for none. */
  readonly proposal: string;
  readonly inbox: string;
}

/** What stands in a queue beside a waiter's ticket. */
interface Entry {
  readonly waiter: string;
  readonly token: string;
  readonly ttl: string;
  readonly inbox: string;
  readonly proposal: string;
  readonly keys: readonly string[];
}

/** What was set aside for a waiter that turned out to be dead. */
interface Orphan {
  readonly wanted: string;
  readonly token: string;
}

/** The ticket queue of one master, in one call of a script: `queue` and the functions behind it, name by name. */
export class Queue {
  readonly #rules: Rules;
  readonly #call: Call;

  constructor(rules: Rules, call: Call) {
    this.#rules = rules;
    this.#call = call;
  }

  enrol(keys: readonly string[], enrolment: Enrolment): Reply {
    const { token, ttl } = enrolment;
    const round = roundOf(token);
    // (All are looked at, though one may tell: a key of another type is an error wherever it is.)
    let free = keys.map((key) => this.#isFreeFor(token, key)).every(Boolean);
    if (free && keys.every((key) => this.#call("EXISTS", queueOf(key)) === 0))
      return this.#claim(keys, token, ttl);
    if (!round) throw scriptError("a token without a round");
    this.#takePlace(keys, round.waiter, enrolment);
    for (const key of keys) free = free && this.#headOf(queueOf(key))?.waiter === round.waiter;
    // (Free of others but for dead waiters: then nobody refuses in the end.)
    const refusal = free ? undefined : this.#refusal(keys, token);
    if (refusal) return refusal;
    if (this.#rules.grantedLeave) for (const key of keys) this.#forget(key, round.waiter);
    return this.#claim(keys, token, ttl);
  }

  leave(keys: readonly string[], tokens: readonly string[]): number {
    for (const key of keys) this.#forgetAll(key, tokens);
    let given = 0;
    for (const key of keys) {
      const owner = this.#call("GET", key) as string | null;
      if (!tokens.some((token) => this.#rules.isMine(owner, token))) continue;
      given += 1;
      this.#handOver(key);
    }
    return given;
  }

  #forgetAll(key: string, tokens: readonly string[]): void {
    for (const token of tokens) {
      const left = roundOf(token);
      if (!left) continue;
      const text = this.#call("GET", `${queueOf(key)}:${left.waiter}`) as string | null;
      if (text !== null && Number.parseInt(text, 10) <= left.round) this.#forget(key, left.waiter);
    }
  }

  #claim(keys: readonly string[], token: string, ttl: string): Reply {
    return claim(this.#rules, this.#call, keys, token, ttl, { create: true });
  }

  #isFreeFor(token: string, key: string): boolean {
    const owner = this.#call("GET", key) as string | null;
    return owner === null || this.#rules.isMine(owner, token);
  }

  /** Only in a mutant: it stands in the queue, whatever is free. */
  stand(keys: readonly string[], enrolment: Enrolment): void {
    this.#takePlace(keys, roundOf(enrolment.token)!.waiter, enrolment);
  }

  #takePlace(
    keys: readonly string[],
    waiter: string,
    { token, ttl, ticket, patience, proposal, inbox }: Enrolment,
  ): void {
    const list = keys.map((key) => `${key.length}:${key}`).join("");
    const entry = `${token.slice(waiter.length + 1)} ${ttl} ${inbox} ${proposal} ${list}`;
    for (const key of keys) {
      const line = queueOf(key);
      this.#call("ZADD", line, ticket, waiter);
      this.#call("SET", `${line}:${waiter}`, entry, "PX", patience);
      if ((this.#call("PTTL", line) as number) < Number(patience)) this.#call("PEXPIRE", line, patience);
    }
  }

  /** What was given before goes to the first, and the first key that somebody else has refuses. */
  #refusal(keys: readonly string[], token: string): Reply | undefined {
    let refusal: Reply | undefined;
    for (const [index, key] of keys.entries()) {
      let owner = this.#call("GET", key) as string | null;
      if (this.#rules.refusedYield && (owner === null || this.#rules.isMine(owner, token))) {
        this.#handOver(key, this.#rules.pushesToItself ? undefined : roundOf(token)!.waiter);
        owner = this.#call("GET", key) as string | null;
      }
      if (refusal || this.#rules.isMine(owner, token)) continue;
      const [, latest] = this.#call("ZRANGE", queueOf(key), "-1", "-1", "WITHSCORES") as readonly Reply[];
      refusal = [index + 1, owner, this.#call("PTTL", key), ...(latest === undefined ? [] : [latest])];
    }
    return refusal;
  }

  #headOf(line: string): Entry | undefined {
    for (;;) {
      const [waiter] = this.#call("ZRANGE", line, "0", "0") as readonly string[];
      if (waiter === undefined) return undefined;
      const text = this.#call("GET", `${line}:${waiter}`) as string | null;
      if (text !== null) return entryOf(waiter, text);
      this.#call("ZREM", line, waiter);
    }
  }

  #forget(key: string, waiter: string): void {
    const line = queueOf(key);
    if (this.#call("ZREM", line, waiter) === 1) this.#call("DEL", `${line}:${waiter}`);
  }

  #isReady(given: string, { keys, waiter, token }: Entry): boolean {
    return keys.every(
      (key) =>
        key === given || (this.#isFreeFor(token, key) && this.#headOf(queueOf(key))?.waiter === waiter),
    );
  }

  #handOver(key: string, asking?: string): void {
    const orphans: Orphan[] = [];
    this.#give(key, asking, orphans);
    for (const { wanted, token } of orphans) {
      const owner = this.#call("GET", wanted) as string | null;
      if (this.#rules.isMine(owner, token)) this.#give(wanted, asking, orphans);
    }
  }

  #give(key: string, asking: string | undefined, orphans: Orphan[]): void {
    const line = queueOf(key);
    for (;;) {
      const head = this.#headOf(line);
      if (!head) {
        this.#call("DEL", key);
        return;
      }
      const isTold = head.inbox !== "-" && head.waiter !== asking && this.#isReady(key, head);
      const counter = isTold && head.proposal !== "" ? counterOf(this.#call, head.keys) : undefined;
      const listening = isTold ? this.#tell(head, counter) : undefined;
      if (listening === undefined) {
        const patience = Math.max(1, this.#call("PTTL", `${line}:${head.waiter}`) as number);
        this.#call("SET", key, head.token, "PX", String(patience));
        return;
      }
      const isHeard = this.#rules.isHeard(listening);
      for (const wanted of head.keys) {
        if (isHeard) this.#call("SET", wanted, head.token, "PX", head.ttl);
        if (!isHeard || this.#rules.grantedLeave) this.#forget(wanted, head.waiter);
      }
      if (isHeard && counter !== undefined)
        raise(this.#call, head.keys, this.#rules.stored(counter, Number(head.proposal)));
      if (isHeard) return;
      for (const wanted of head.keys) if (wanted !== key) orphans.push({ wanted, token: head.token });
    }
  }

  /** To how many it went; nothing where it is forbidden to tell. */
  #tell({ inbox, token }: Entry, counter: number | undefined): number | undefined {
    try {
      return this.#call("PUBLISH", inbox, counter === undefined ? token : `${token} ${counter}`) as number;
    } catch (error) {
      if (error instanceof ReplyError) return undefined;
      throw error;
    }
  }
}

function entryOf(waiter: string, text: string): Entry {
  const [, round, ttl, inbox, proposal, list] = /^(\d+) (\d+) ([^\s]+) (\d*) ([\s\S]*)$/.exec(text) ?? [];
  if (round === undefined) throw scriptError(`no entry of a queue: ${text}`);
  const token = `${waiter}.${round}`;
  return { waiter, token, ttl: ttl!, inbox: inbox!, proposal: proposal!, keys: keysIn(list!) };
}

function keysIn(list: string): readonly string[] {
  const keys: string[] = [];
  for (let position = 0; position < list.length; ) {
    const colon = list.indexOf(":", position);
    const end = colon + 1 + Number(list.slice(position, colon));
    keys.push(list.slice(colon + 1, end));
    position = end;
  }
  return keys;
}
