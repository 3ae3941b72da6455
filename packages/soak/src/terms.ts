// The parameters of a run: leases are short, so that every fault is longer than some of them.

export const masterCount = 5;
export const workerCount = 8;
/** Of one more process, behind the workers, which no fault is aimed at: it holds these, kept extended to the end. */
export const leaseCount = 2000;
/** It holds these beside them in the slot of the Cluster that moves. */
export const movingLeaseCount = 20;
/** Shorter than the longest move: each has to be kept while it is on one master and others are on the other, ms. */
export const movingLeaseTtl = 3000;
/** Between two locks of a worker on the Cluster, where waiting is polling: it is not to take the processors from the rest, ms. */
export const restOnCluster = 150;
/** Of the Cluster: its masters are not among those above, and are one separate voter. */
export const primaryCount = 2;
/** Longer than any fault, which may delay one or two renewals, ms. */
export const leaseTtl = 8000;
/** Locks that each worker works on at the same time. */
export const callersPerWorker = 3;

/** The ttl of the locks, ms. */
export const ttl = 1500;
export const nodeTimeout = 75;
/** Clients reconnect to a master within this time after a fault, ms. */
export const reconnection = 2000;
/** Pause between attempts, ms. With many waiters one of them retries soon even if pauses are long; shorter ones only cost. */
export const retryDelay = 60;
export const retryJitter = 40;
/** Longer than a lease: a waiter outlives a holder that died. */
export const waitTimeout = 4500;

export const leaseKey = (index: number): string => `soak:lease:${index}`;
/** All keys that are locked on the Cluster share one slot, the one that moves. */
export const movingKey = "{soak:moving}";
export const movingKeys: readonly string[] = Array.from({ length: 6 }, (_, index) => `${movingKey}:${index}`);
export const movingLeaseKey = (index: number): string => `${movingKey}:lease:${index}`;
export const leasePattern = "*:lease:*";
export const hotKey = "soak:hot";
export const coldKeys: readonly string[] = Array.from({ length: 64 }, (_, index) => `soak:cold:${index}`);
/** The key of the readers-writer lock. */
export const sharedKey = "soak:shared";
export const permitsKey = "soak:permits";
export const permits = 3;
/** The fraction of all locks that is requested on the hot key. */
export const hotShare = 0.4;
