import { lockNodeContract as contractIn, type DriverMaker } from "@quorlock/testing/contract";
import * as vitest from "vitest";
import { placeCases } from "./place-cases.ts";
import { type RedisDriverOptions, redisDriver } from "./redis-driver.ts";

/** The suite as authors of adapters get it. */
export function lockNodeContract(name: string, makeDriver: DriverMaker): void {
  contractIn(name, makeDriver, vitest);
}

/** The suite for each of these clients, by name. */
export function contracts(clients: Readonly<Record<string, RedisDriverOptions>>): void {
  for (const [name, options] of Object.entries(clients)) {
    lockNodeContract(name, redisDriver(options));
    // (The addresses of a Cluster are its own.)
    if (!options.isCluster && !options.prepare && !options.start) placeCases(name, options);
  }
}
