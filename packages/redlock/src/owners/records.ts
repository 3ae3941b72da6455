import type { LockNode } from "../protocol/node.ts";
import { SharedReads } from "../protocol/shared-reads.ts";
import { ownerScript } from "../scripts.generated.ts";
import type { ListedMaster } from "./membership.ts";
import { type OwnerRecord, ownerKey, ownersKey, recordIn } from "./owner-record.ts";

/** The user may not, or the server cannot: it will be so for as long as the connection lasts. Any other refusal may pass. */
const isForGood = (error: unknown): boolean => /NOPERM|unknown command|not supported/i.test(String(error));

/**
 * The records of owners on one master. A refusal is no fault, since the master goes on to vote: what it refuses for good is not
 * asked again on that connection.
 */
export class MasterRecords {
  readonly #node: LockNode;
  readonly #reads = new SharedReads();
  /** The session of the connection on which the master has refused a write, or a read. */
  #unwritable: number | undefined;
  #unreadable: number | undefined;
  #isWriteUnanswered = false;

  constructor(node: LockNode) {
    this.#node = node;
  }

  /** As a record lists it: a server that is not connected, or silent, may be another one by now. */
  get listed(): ListedMaster {
    const { name, server, records } = this.#node;
    const isHere = records?.session !== undefined && !this.#isWriteUnanswered;
    return { name, ids: isHere ? (server?.ids ?? []) : [] };
  }

  /** `ttl`: ms; 0 deletes the record. Not while the last write is unanswered, but for a deletion. */
  async write(tag: string, text: string, ttl: number, turn: number): Promise<unknown> {
    const { records } = this.#node;
    const session = records?.session;
    if (!records || session === undefined || session === this.#unwritable) return undefined;
    if (this.#isWriteUnanswered && ttl > 0) return undefined;
    this.#isWriteUnanswered = true;
    const keys = [ownersKey(records.isCluster), ownerKey(tag, records.isCluster)];
    try {
      return await records.send("EVAL", [ownerScript.source, 2, ...keys, tag, text, ttl, turn]);
    } catch (error) {
      if (isForGood(error)) this.#unwritable = session;
      return undefined;
    } finally {
      this.#isWriteUnanswered = false;
    }
  }

  async read(tags: readonly string[]): Promise<readonly OwnerRecord[]> {
    const { records } = this.#node;
    const session = records?.session;
    if (!records || session === undefined || session === this.#unreadable) return [];
    // A right that locks need: MGET would be one more.
    const reads = tags.map(async (tag) =>
      this.#reads.read(session, tag, () => records.send("GET", [ownerKey(tag, records.isCluster)])),
    );
    try {
      const texts = await Promise.all(reads);
      return tags.flatMap((tag, place) => recordIn(tag, texts[place]) ?? []);
    } catch (error) {
      if (isForGood(error)) this.#unreadable = session;
      return [];
    }
  }
}
