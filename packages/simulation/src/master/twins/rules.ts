import { isLess } from "./twin.ts";

/** The decisions of the client's scripts; mutants change them. */
export interface Rules {
  /** Whether a key with this value belongs to `token`. */
  readonly isMine: (owner: string | null, token: string) => boolean;
  /** Whether a key with so much left is to live longer. `least` is nothing where the script was sent no number. */
  readonly isShort: (left: number, least: number | undefined) => boolean;
  /** Whether such a key is really renewed, which all it says depends on. */
  readonly isSet: boolean;
  /** Whether a key that lives is renewed by SET, which a full master refuses. */
  readonly renewsBySet: boolean;
  /** Whether a waiter counts as notified of a grant, by the number of listeners that received it. */
  readonly isSubscribed: (listeners: number) => boolean;
  /** Whether a waiter leaves the queue when it is granted its keys. */
  readonly grantedLeave: boolean;
  /** Whether an entry that comes late leaves a key alone that a hold of its own round has. */
  readonly heldStay: boolean;
  /** Whether a waiter is notified before the key is set. */
  readonly pushesFirst: boolean;
  /** Whether a refused claim gives back what it was given before. */
  readonly refusedYield: boolean;
  /** Whether a fencing token is stored though the key is not the hold's any more. */
  readonly writesBackAnyway: boolean;
  /** The value of a fencing counter after a claim that is granted. */
  readonly stored: (counter: number, proposal: number) => number;
  /** How long the quarantine lasts after a loss of memory, for this maxTtl; both as the scripts are sent them. */
  readonly quarantine: (maxTtl: string) => string;
  /** Whether it votes nevertheless. */
  readonly votesInQuarantine: boolean;
  /** Whether the key of a quarantine lives no longer than the quarantine is, if the clock of its master is set back. */
  readonly boundsQuarantine: boolean;
  /** Whether the quarantine is over with the key, whatever the clocks of clients say. */
  readonly endsByTheKey: boolean;
  /** Whether who is refused meanwhile has a place in the queue, and is handed what is given up. */
  readonly handsOverInQuarantine: boolean;
  /** Whether fencing counters are brought back before it is over. */
  readonly seedsInQuarantine: boolean;
  /** Whether it votes without them. */
  readonly votesUnseeded: boolean;
  /** Whether a marker counts although the data was loaded from a file or from another master. */
  readonly trustsLoadedMemory: boolean;
  /** Whether a marker counts although another server at this address had a later one. */
  readonly trustsOlderEpoch: boolean;
  /** Whether a marker counts although its master was a replica since. */
  readonly trustsPromoted: boolean;
  /** Whether a quarantine that begins keeps the epoch of the marker that it finds. */
  readonly keepsEpoch: boolean;
  /** Whether each reader is gone when its own time is over, and the set lives for as long as the last of them. */
  readonly readersExpireThemselves: boolean;
  /** Whether readers keep a writer out. */
  readonly writerSeesReaders: boolean;
  /** Whether a writer keeps readers out. */
  readonly readerSeesWriter: boolean;
  /** Whether a downgrade leaves a reader on the master. */
  readonly downgradeMakesReader: boolean;
  /** Whether a waiter is granted only what nobody has. */
  readonly grantsWhatIsFree: boolean;
  /** Whether the vote of a reader is refused while anybody waits. */
  readonly waitersRefuseReaders: boolean;
  /** Whether an entry for a shared claim, or for another one, is granted only when it is the first in its queue. */
  readonly takesTurns: (isShared: boolean) => boolean;
  /** Whether the mark of a writer that retries keeps readers out. */
  readonly markKeepsReadersOut: boolean;
  /** Whether a writer that stops retrying removes only the mark that it made. */
  readonly removesOwnMark: boolean;
}

/** Those of the scripts as they are. */
export const rules: Rules = {
  isMine,
  isShort: isLess,
  isSet: true,
  renewsBySet: false,
  isSubscribed: (listeners) => listeners > 0,
  grantedLeave: true,
  heldStay: true,
  pushesFirst: false,
  refusedYield: true,
  writesBackAnyway: false,
  stored: Math.max,
  quarantine: (maxTtl) => maxTtl,
  votesInQuarantine: false,
  boundsQuarantine: true,
  endsByTheKey: false,
  handsOverInQuarantine: false,
  seedsInQuarantine: false,
  votesUnseeded: false,
  trustsLoadedMemory: false,
  trustsOlderEpoch: false,
  trustsPromoted: false,
  keepsEpoch: false,
  readersExpireThemselves: true,
  writerSeesReaders: true,
  readerSeesWriter: true,
  downgradeMakesReader: true,
  grantsWhatIsFree: true,
  waitersRefuseReaders: true,
  takesTurns: () => true,
  markKeepsReadersOut: true,
  removesOwnMark: true,
};

/** The very token, or that of an earlier round of the same waiter. */
function isMine(owner: string | null, token: string): boolean {
  if (owner === token) return true;
  const own = owner === null ? undefined : roundOf(owner);
  const asked = own && roundOf(token);
  return asked !== undefined && own!.waiter === asked.waiter && own!.round < asked.round;
}

/** `<waiter>.<round>`; nothing where a token has no such form. */
export function roundOf(token: string): { readonly waiter: string; readonly round: number } | undefined {
  const dot = token.lastIndexOf(".");
  const digits = token.slice(dot + 1);
  return dot > 0 && /^\d+$/.test(digits) ? { waiter: token.slice(0, dot), round: Number(digits) } : undefined;
}
