import type { Behaviour } from "../behaviours/bench.ts";
import { sections } from "../behaviours/sections.ts";

/** A line of the comparison, and the cases of test/behaviours that it counts. */
export interface Situation {
  readonly name: string;
  readonly cases: readonly Behaviour[];
}

/** By its rule and its title, as the suite shows it. */
export function nameOf({ rule, title }: Pick<Behaviour, "rule" | "title">): string {
  return `${rule} ${title}`;
}

const every = Object.values(sections).flat();

function situation(name: string, ...names: readonly string[]): Situation {
  const cases = names.map((wanted) => {
    const found = every.find((one) => nameOf(one) === wanted);
    if (!found) throw new Error(`test/behaviours has no case "${wanted}"`);
    return found;
  });
  return { name, cases };
}

/**
 * The promises that a user of any lock library relies on. The other cases of test/behaviours are about calls, options, errors and
 * events that this client alone has, or fail with a library for what another case is about.
 */
export const situations: readonly Situation[] = [
  situation(
    "each call settles in time",
    "1.10 Acquire and release settle within a time-out while no master answers",
    "2.2 A master whose connection is lost counts as unreachable at once",
    "2.3 A lock is granted as soon as a majority has voted",
    "2.3 A call is refused as soon as a majority cannot be had",
    "5.2 The release of a lock that has ended is no error",
  ),
  situation(
    "`acquire` never returns an expired lock",
    "2.4 The time of a lock counts from the call, not from the answers",
    "2.4 A lock that was waited for has its time still, and can be extended",
    "2.5 A blocked process gets no lock that has ended meanwhile",
  ),
  situation(
    "three clients ask at once: one of them gets the lock",
    "1.9 Of several clients that ask at once, one holds",
    "1.9 Of three clients that split the votes one has the lock soon",
    "2.3 Half of the masters are no majority",
  ),
  situation(
    "the holder is notified before others can hold",
    "1.11 The signal of `using` aborts before its ttl is over if a majority is out of reach",
    "1.11 The signal of `using` aborts before its ttl is over if another client has taken a majority of its keys",
    "1.11 The signal of `using` aborts before its ttl is over if a majority answers by errors",
    "3.2 An extension that only a minority confirms prolongs nothing",
    "3.3 An extension counts from its send",
    "3.4 A step back of the wall clock prolongs no lock, and a step forward ends it",
  ),
  situation(
    "failed attempts leave no keys",
    "2.6 A failed attempt leaves no key",
    "2.6 Masters that have voted without an answer are cleaned as well",
    "2.6 A master that hung, or was out of reach, is cleaned when it is back",
    "2.7 A waiter counts a key that was granted to it, though it never heard of the grant",
  ),
  situation(
    "a semaphore keeps its limit",
    "10.1 No more permits are given than the limit says, however many ask at once",
  ),
  situation(
    "one holder, although a master loses data or its clock jumps (Quorlock: with options)",
    "9.1 A lock that few masters have is given to nobody else when one of them is restarted empty",
    "9.2 A lock that few masters have is given to nobody else when one of them is emptied",
    "11.2 A client that has just started does not count a master whose clock is wrong",
  ),
  situation(
    "reconnects after failover",
    "2.9 A server to which an address has moved is known again, and votes once",
    "README It locks again when its connections are silent, and new ones work",
  ),
  situation(
    "other cases",
    "2.2 A vote sets a key that is free, and none that another client has",
    "4.4 A lock of half a second is extended no more often than ten times in its ttl",
    "4.4 A lock of a hundred years is extended no more often than ten times in its ttl",
    "13.1 A lock, and one of another library on the same key, exclude each other",
    "README `using` waits for the lock, extends it while the function runs, and releases it",
    "README `using` releases the lock, and rejects, if the function throws",
    "README `using` settles as its function did, though its key is gone",
    "README If the process dies, the lock is free after the ttl of its last extension",
    "README That a resource is locked is no error event",
  ),
];

export const cases: readonly Behaviour[] = situations.flatMap((one) => one.cases);
