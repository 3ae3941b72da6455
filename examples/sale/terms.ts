/** The number of items for sale. */
export const stockSize = 100;

/** The ttl of the lock, ms: the masters keep it at most this long after its holder is cut off. */
export const lease = 2_000;

/** The sellers, each in its own process. */
export const workers = ["Anna", "Ben", "Cleo", "Dora", "Emil"] as const;
