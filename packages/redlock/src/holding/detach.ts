import { RoundClaim } from "../protocol/claim.ts";
import type { Lease } from "../protocol/lease.ts";
import type { Answer } from "../protocol/node.ts";
import { Round } from "../protocol/round.ts";
import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import type { DetachedLock } from "./lock.ts";

/**
 * Gives a hold away: PROTOCOL 5.5 to 5.9. The lease has ended before, so nothing that is not sent yet will be.
 *
 * What was sent may still be on its way: a vote, an extension that repairs, an entry in a queue. It must not be executed
 * after the receiver has been told of the lock: the receiver's release would come first, and a key would stand that
 * nobody owns. Connections are FIFO, so a question behind all of it is answered after all of it. The question is an
 * extension by 1 ms without repair, which changes nothing.
 */
export async function detach(lease: Lease, settings: Settings): Promise<DetachedLock> {
  const { runtime, clock, rollbacks, report } = lease.context;
  const { placement } = lease;
  const { nodes } = placement;
  const { resources, token: value, longestTtl: ttl, fencingToken } = lease;
  const timeout = nodeTimeoutFor(ttl, settings);
  // A master that was late when the hold was passed on still has the key, or a queue entry, under the predecessor's
  // token. No vote of this hold is among them (PROTOCOL 7.17), and the receiver does not know these tokens.
  const inherited = lease.tokens.filter((token) => token !== value);
  if (inherited.length > 0)
    rollbacks.remove({ placement, resources, tokens: inherited, ttl }, nodes, timeout);
  const claim = new RoundClaim(placement, resources, value, 1);
  const round = new Round<Answer>({
    nodes,
    runtime,
    clock,
    timeout,
    ask: claim.question("extend"),
    claim,
    onAnswer: (_, answer) => {
      if (answer.vote === "none") report(answer.error);
      return false;
    },
  });
  await round.closed;
  return { resources, value, ttl, ...(fencingToken === undefined ? {} : { fencingToken }) };
}
