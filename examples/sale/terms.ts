/** What is for sale: one item more is one too many. */
export const stockSize = 100;

/** How long a lock lives without renewal, ms. The masters may keep it no longer once its holder is cut off. */
export const lease = 2_000;

/** Who sells: a process each. */
export const workers = ["Anna", "Ben", "Cleo", "Dora", "Emil"] as const;
