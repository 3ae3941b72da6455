import { Fifo } from "../time/fifo.ts";
import { isAbandoned, type Posted } from "./batch.ts";

/** The maximum number of requests waiting for room: bounds the memory while a master hangs. */
export const maxWaitingRequests = 4096;

/** The questions that wait for room, by purpose, each in the order of the calls. */
export class Backlog {
  readonly #keeps = new Fifo<Posted>();
  readonly releases: Fifo<Posted> = new Fifo();
  readonly #requests = new Fifo<Posted>();
  /** The claims among the requests, by token. */
  readonly #claims = new Map<string, Posted>();

  get length(): number {
    return this.#keeps.length + this.releases.length + this.#requests.length;
  }

  get hasRoom(): boolean {
    return this.#requests.length < maxWaitingRequests;
  }

  push(posted: Posted): void {
    const { purpose, question } = posted;
    if (purpose === "keep") this.#keeps.push(posted);
    else if (purpose === "release" && !this.#isBehindClaim(posted)) this.releases.push(posted);
    else {
      this.#requests.push(posted);
      if (question.claim) this.#claims.set(question.words[0]!, posted);
    }
  }

  /** Whether a claim that it undoes waits, and may be sent: the release must not overtake it (PROTOCOL 12.8). */
  #isBehindClaim({ question: { words } }: Posted): boolean {
    const claim = this.#claims.get(words[0]!);
    return claim !== undefined && !isAbandoned(claim);
  }

  /** Whether one waits that is sent before it. */
  hasBefore(posted: Posted): boolean {
    if (posted.purpose === "keep") return this.#keeps.length > 0;
    const isBehindRequests = posted.purpose === "request" || this.#isBehindClaim(posted);
    return this.releases.length > 0 || (isBehindRequests && this.#requests.length > 0);
  }

  /** The next one to send of the classes that have room. */
  shift(keeps: boolean, others: boolean): Posted | undefined {
    const keep = keeps ? this.#keeps.shift() : undefined;
    return keep ?? (others ? (this.releases.shift() ?? this.#shiftRequest()) : undefined);
  }

  #shiftRequest(): Posted | undefined {
    const request = this.#requests.shift();
    if (request?.question.claim) this.#claims.delete(request.question.words[0]!);
    return request;
  }

  /** Whether the release undoes a vote that is abandoned here, and therefore is never sent (PROTOCOL 12.2). */
  isNeedless({ question: { words } }: Posted): boolean {
    const claim = this.#claims.get(words[0]!);
    return claim?.question.verb === "vote" && isAbandoned(claim);
  }

  /** Removes and returns the abandoned requests. */
  takeAbandoned(): readonly Posted[] {
    const abandoned: Posted[] = [];
    for (let count = this.#requests.length; count > 0; count -= 1) {
      const request = this.#shiftRequest()!;
      if (isAbandoned(request)) abandoned.push(request);
      else this.push(request);
    }
    return abandoned;
  }

  /** Removes and returns everything. */
  drain(): readonly Posted[] {
    this.#claims.clear();
    return [...this.#keeps.drain(), ...this.releases.drain(), ...this.#requests.drain()];
  }
}
