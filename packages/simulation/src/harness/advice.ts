import type { Violation } from "../checkers/findings.ts";
import { type Incident, wasReleased, whyBare } from "./incident.ts";

const inOneOrder =
  "=> Locks are taken in different orders. Take them in one order everywhere, or all in one call: acquire([a, b]).";

/** The mistake in the code, as far as its calls show it, and what helps. */
export function adviceFor(incident: Incident, violation: Violation): readonly string[] {
  const [client, ...others] = incident.culprits(violation);
  if (violation.kind === "deadlock" && others.length === 0 && !violation.detail.includes(", and for "))
    return [
      `=> client ${client} locks again what it holds. Do that in the call that holds it, or set the option reentrant.`,
    ];
  if (violation.kind === "deadlock") return [inOneOrder];
  if (violation.kind === "starvation")
    return [
      "=> Wait by acquire with a waitTimeout, which keeps a place in the queue: a tryAcquire that is repeated has none.",
    ];
  if (violation.kind !== "invariant" || client === undefined) return [];
  const from = incident.beginning(violation, [client]);
  const bare = incident.runs.filter(
    (run) => run.client === client && run.sentAt >= from && whyBare(run) !== "",
  );
  const over = bare.find(({ lock }) => lock && !wasReleased(lock));
  const released = bare.find(({ lock }) => lock && wasReleased(lock));
  const name = `client ${client}`;
  if (over)
    return [
      `=> ${name} calls ${over.name} after its lock is over. Right before each write, throw if lock.signal is aborted; if the work takes ` +
        "longer than the ttl, extend the lock, or hold it by using.",
    ];
  if (released)
    return [
      `=> ${name} releases its lock before ${released.name} is done. Await the work before the release.`,
    ];
  if (bare.length > 0 && incident.isRefused(client))
    return [`=> ${name} goes on although it got no lock: tryAcquire resolves to null then.`];
  if (bare.length > 0)
    return [`=> ${name} calls ${bare[0]!.name} without a lock. Call it while the lock is held.`];
  return [`=> ${name} held a lock in each of its calls. Do all clients lock the same resource?`];
}

/** The use of a fencing token. */
export function fencingAdvice({ runs, held }: Incident): readonly string[] {
  const late = runs.findLast((run) => whyBare(run) !== "");
  const numberOf = (client: number, before: number): number =>
    held.findLastIndex((lock) => lock.client === client && lock.from <= before) + 1;
  const newer =
    late?.lock &&
    runs.findLast(({ client, lock }) => client !== late.client && lock && lock.from > late.lock!.from);
  const why = "=> Its client was stopped after its last look at the lock: no lock can prevent that.";
  if (!late || !newer) return [why];
  const tokens = `With the option fencing, client ${late.client} sends the token ${numberOf(late.client, late.sentAt)} with ${late.name}`;
  return [
    `${why} ${tokens}, and the resource has seen ${numberOf(newer.client, newer.at)} of client ${newer.client}: it refuses the smaller one.`,
  ];
}
