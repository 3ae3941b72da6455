/** More keys are rarely read at a time. */
export const maxUnanswered = 1000;

/**
 * Reads of one master beside its operations, one at a time for each key. A master that hangs answers none of them, and the
 * client library keeps them all: so their number is limited.
 */
export class SharedReads {
  #session: number | undefined;
  #unanswered = new Map<string, Promise<unknown>>();

  /** The reply to the read of `key` that is unanswered, or to a new one; `undefined` if too many are unanswered. */
  read(session: number, key: string, send: () => Promise<unknown>): Promise<unknown> | undefined {
    if (session !== this.#session) {
      // Those of an earlier connection may never settle.
      this.#session = session;
      this.#unanswered = new Map();
    }
    const unanswered = this.#unanswered;
    const earlier = unanswered.get(key);
    if (earlier || unanswered.size >= maxUnanswered) return earlier;
    const reply = send().finally(() => unanswered.delete(key));
    unanswered.set(key, reply);
    return reply;
  }
}
