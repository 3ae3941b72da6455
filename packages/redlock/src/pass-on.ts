import type { Wish } from "./acquire.ts";
import { Attempts } from "./attempts.ts";
import { verdictOf } from "./ballot.ts";
import { Cancellation } from "./cancellation.ts";
import { RoundClaim } from "./claim.ts";
import { countersIn, fence } from "./fencing.ts";
import { Lease } from "./lease.ts";
import type { Answer } from "./node.ts";
import { Released, type ReleaseResult, takeBack } from "./release.ts";
import { Round } from "./round.ts";
import { nodeTimeoutFor, type Settings } from "./settings.ts";
import { firstToken } from "./token.ts";
import { holdDeadline, never, nodeDeadline } from "./validity.ts";

export interface PassedOn {
  /** The hold of the next one; none where no quorum took part. */
  readonly heir?: Lease;
  /** For the one who gave up. */
  readonly result: ReleaseResult;
}

/**
 * Passes a hold on within this process: release and vote in one round, which exchanges the tokens (PROTOCOL 7).
 *
 * The old hold has ended before (14.5), so of its votes none counts: the new one is made of this round's alone, each
 * from the send on, as if it had been voted for. Where the exchange fails, both tokens are given up.
 */
export async function passOn(
  lease: Lease,
  wish: Wish,
  attempts: Attempts,
  settings: Settings,
): Promise<PassedOn> {
  const { coordinator } = lease;
  const { nodes, quorum, runtime, clock, report } = coordinator;
  const { resources, ttl } = wish;
  const { driftFactor, minimumValidity } = wish.settings;
  const claim = new RoundClaim(resources, firstToken(runtime), ttl);
  // One more than what is passed on: those who wait on the masters propose more, by when they came (see `Waiter`).
  claim.proposal = lease.fencingToken === undefined ? undefined : lease.fencingToken + 1;
  const deadlines = nodes.map(() => never);
  const round: Round<Answer> = new Round<Answer>({
    nodes,
    runtime,
    clock,
    timeout: nodeTimeoutFor(ttl, wish.settings),
    ask: (node) => node.queue!.swap(claim, lease.token),
    hear: (index, answer) => {
      if (answer.vote === "yes") {
        deadlines[index] = nodeDeadline(round.sentAt, ttl, driftFactor);
        claim.lease?.renew(index, deadlines[index]);
      } else if (answer.vote === "none") report(answer.error);
      return verdictOf(round.answers) !== "open";
    },
  });
  round.onClosed(() => claim.giveUp());
  attempts.add(round);
  await round.decided;
  const isInTime = () => holdDeadline(deadlines, quorum) - clock.now() > minimumValidity;
  let isGranted = verdictOf(round.answers) === "won" && isInTime();
  let fencingToken: number | undefined;
  if (isGranted && claim.proposal !== undefined) {
    const counters = countersIn(round.answers);
    fencingToken = await fence(coordinator, claim, wish.settings, counters, deadlines, new Cancellation());
    isGranted = fencingToken !== undefined && isInTime();
  }
  if (isGranted) {
    const heir = new Lease(coordinator, { resources, token: claim.token, ttl, deadlines, fencingToken });
    claim.lease = heir;
    heir.inherit(lease);
    const given = new Attempts(nodes);
    given.add(round);
    return { heir, result: new Released("released", given) };
  }
  claim.giveUp();
  lease.alsoUsed(claim.token);
  return { result: await takeBack(lease, settings) };
}
