import type { Process } from "../engine/process.ts";
import type { Write } from "../master/keyspace.ts";
import type { Master } from "../master/master.ts";
import { queuePrefix } from "../master/twins/queue.ts";
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
    master.onWrite((write, sender) => {
      owners.see(write, sender);
      const { key, entry, previous } = write;
      if (key.startsWith(queuePrefix)) return;
      const [token, before] = [entry?.value, previous?.value];
      if (typeof before === "string") {
        const owner = owners.of(before);
        // A waiter's key may come to a later round of its own by somebody else's release.
        const isPassedOn =
          typeof token === "string" && token !== before && waiterOf(token) === waiterOf(before);
        if (owner !== undefined && owner !== sender && !isPassedOn) {
          const vote = `the vote of ${owner.name} for "${key}" on ${master.name}`;
          findings.violated("ownership", `${sender.name} ${deedOf(entry, previous)} ${vote}`);
        }
      }
      if (typeof token !== "string" || token === before) return;
      const owner = owners.of(token);
      if (owner !== undefined && owner !== sender) listener.onHandOver(owner, master);
    });
  }
}

function deedOf(entry: Write["entry"], previous: Write["previous"]): string {
  if (entry === undefined) return "deleted";
  return entry.value === previous?.value ? "prolonged" : "overwrote";
}
