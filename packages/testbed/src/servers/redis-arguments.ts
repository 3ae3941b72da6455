import type { WayOptions } from "../masters.ts";

const persistenceArguments: Record<WayOptions["persistence"], readonly string[]> = {
  none: ["--save", "", "--appendonly", "no"],
  "aof-always": ["--save", "", "--appendonly", "yes", "--appendfsync", "always"],
  "aof-everysec": ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"],
  // Redis's own defaults, spelled out: a distribution's patched default must not change a test.
  rdb: ["--save", "3600 1 300 100 60 10000", "--appendonly", "no"],
};

/** The redis-server arguments that every started master gets; the caller's own come last and so win. */
export function redisArguments(options: WayOptions): string[] {
  return [
    "--daemonize",
    "no",
    // An evicted key is a lost lock: locks need a server that refuses writes instead.
    "--maxmemory-policy",
    "noeviction",
    ...persistenceArguments[options.persistence],
    ...options.config,
  ];
}
