import { nodeTimeout, retryDelay, waitTimeout } from "../terms.ts";

// The time within which each call settles, as the client's documentation promises, ms.

/** `waitTimeout`: no attempt begins later, "so it settles within this and one nodeTimeout". */
export const acquireLimit: number = waitTimeout + nodeTimeout;

/** Before it waits in line it tries three slots, one after the other, and behind it what was granted is looked at. */
export const permitLimit: number = waitTimeout + 5 * nodeTimeout;

/** Votes that rivals split are taken again eight times, after pauses of 50 ms at most, or as retries are made. */
const revotes = 8;
export const tryLimit: number = (1 + revotes) * nodeTimeout + revotes * Math.max(retryDelay, 50);

/** One round without a retry. */
export const roundLimit: number = nodeTimeout;

/** "Settles within two nodeTimeouts". */
export const quitLimit: number = 2 * nodeTimeout;
