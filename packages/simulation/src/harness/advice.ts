import type { Violation } from "../checkers/findings.ts";
import { quoted } from "./circle.ts";
import { type Incident, shares, wasReleased, whyBare } from "./incident.ts";

/** The mistake in the code, as far as its calls show it, and what helps. */
export function adviceFor(incident: Incident, violation: Violation): readonly string[] {
  const [client, ...others] = incident.culprits(violation);
  if (violation.kind === "deadlock") return [deadlockAdvice(violation.detail, others.length === 0)];
  if (violation.kind === "starvation")
    return [
      "=> Wait by acquire with a waitTimeout, which keeps a place in the queue: a tryAcquire that is repeated has none.",
    ];
  if (violation.kind === "unsettled")
    return [
      `=> client ${client} waits for a promise that nothing settles (setTimeout instead of pause?), or repeats a call without end: what others change under the ` +
        "lock that it holds does not change meanwhile.",
    ];
  if (violation.kind !== "invariant" || client === undefined) return [];
  const from = incident.beginning(violation, [client]);
  const bare = incident.runs.filter(
    (run) => run.client === client && run.sentAt >= from && whyBare(run) !== "",
  );
  const over = bare.findLast(({ lock }) => lock && !wasReleased(lock));
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
  return [`=> ${name} ${underLocks(incident, client)}`];
}

function deadlockAdvice(detail: string, isAlone: boolean): string {
  const names = new Set(detail.match(/"[^"]*"/g));
  const [name] = names;
  if (names.size > 1)
    return "=> Locks are taken in different orders. Take them in one order everywhere, or all in one call: acquire([a, b]).";
  if (/permit \d+ of "/.test(detail))
    return `=> Permits of ${name} are taken one by one, until nobody gets the last. Take all in one call: the option permits.`;
  if (isAlone)
    return "=> It locks again what it holds. Do that in the call that holds it, or set the option reentrant; a reader releases its lock before it writes.";
  return `=> They hold ${name} together, so as readers, and a reader does not become a writer. Release the read lock, take the write lock, and read again.`;
}

/** No call was without its lock: it did not exclude another one, or exclusion is not what is missing. */
function underLocks(incident: Incident, client: number): string {
  const mine = incident.runs.findLast((run) => run.client === client)?.lock;
  const met = incident.met(client);
  if (!mine || !met?.lock || met.at < mine.from)
    return (
      "held its lock in each of its calls, and no other client was at work then. Under the lock, read again what was read before it; ask whether " +
      "the work is done already, by an earlier try or another client; and make one call of what must happen as a whole."
    );
  const [one, other] = [quoted(mine.resources), quoted(met.lock.resources)];
  const both = `calls the resource under ${one}, and client ${met.client} under ${other} at the same time`;
  if (shares(mine.resources, met.lock.resources))
    return `${both}: these are read locks. Write under a write lock.`;
  if (one.startsWith("permit"))
    return `${both}: a semaphore excludes nobody while it has permits. Give it the limit 1, or take a lock.`;
  return `${both}, which do not exclude each other. Lock the same resource, or all that the work touches: acquire([a, b]).`;
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
  const tokens = `With the option fencing, and a token in each call, reads too, client ${late.client} sends the token ${numberOf(late.client, late.sentAt)} with ${late.name}`;
  return [
    `${why} ${tokens}, and the resource has seen ${numberOf(newer.client, newer.at)} of client ${newer.client}: it has to refuse the smaller one.`,
  ];
}
