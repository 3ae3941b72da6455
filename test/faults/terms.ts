// Long enough for a busy machine, short enough to wait for the end of a lease.

export const ttl = 3000;
export const nodeTimeout = 750;
/** With it there are 300 ms between the telling and the end of the lease: timers are late on a busy machine. */
export const driftFactor = 0.1;
/** The time a busy machine may add to the time-out of a call, ms. */
export const slack = 750;
/** Between two attempts of ioredis to connect, ms. */
export const reconnectDelay = 100;
/** Within this everything goes on once a fault is healed, ms. */
export const recoveryLimit: number = 2 * nodeTimeout + reconnectDelay;
