import type { Process } from "../engine/process.ts";
import type { Master } from "../master/master.ts";
import { ownPrefix, queuePrefix } from "../master/twins/queue.ts";
import type { Findings } from "./findings.ts";
import { TokenOwners, waiterOf } from "./token-owners.ts";

export interface OwnershipListener {
  /** A master has given a key to `client`, on behalf of somebody else who gave it up. */
  onHandOver(client: Process, master: Master): void;
}

/**
 * A vote that still lives is changed or taken away by nobody but the client that cast it, or that it was handed to:
 * releases compare, votes do not overwrite. Seen at the masters, where a wrong one shows before anybody believes in
 * anything. What its owner gives up, a master may give to a client that waits.
 */
export function watchOwnership(
  findings: Findings,
  masters: readonly Master[],
  listener: OwnershipListener,
): void {
  const owners = new TokenOwners();
  for (const master of masters) {
    /** Of each place in a queue, by its key. */
    const rounds = new Map<string, number>();
    master.onWrite((write, sender) => {
      owners.see(write, sender);
      const { key, entry, previous } = write;
      if (key.startsWith(ownPrefix)) {
        // (The place itself: a text that begins with its round.)
        if (typeof entry?.value !== "string" || !key.startsWith(queuePrefix)) return;
        const round = Number.parseInt(entry.value, 10);
        if (round === rounds.get(key))
          findings.violated("ownership", `${sender.name} enrols in round ${round} again at ${master.name}`);
        rounds.set(key, round);
        return;
      }
      const [token, before] = [entry?.value, previous?.value];
      if (typeof before === "string") {
        const owner = owners.of(before);
        // A key that is set aside for a waiter becomes its vote when somebody else gives up the last that it lacks.
        const isKept = typeof token === "string" && waiterOf(token) === waiterOf(before);
        if (owner !== undefined && owner !== sender && !isKept) {
          const deed = entry === undefined ? "deleted" : "overwrote";
          const vote = `the vote of ${owner.name} for "${key}" on ${master.name}`;
          findings.violated("ownership", `${sender.name} ${deed} ${vote}`);
        }
      }
      if (typeof token !== "string" || token === before) return;
      const owner = owners.of(token);
      if (owner !== undefined && owner !== sender) listener.onHandOver(owner, master);
    });
  }
}
