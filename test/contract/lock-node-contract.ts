import { lockNodeContract as contractIn, type DriverMaker } from "@quorlock/testing/contract";
import * as vitest from "vitest";

/** The suite as authors of adapters get it. */
export function lockNodeContract(name: string, makeDriver: DriverMaker): void {
  contractIn(name, makeDriver, vitest);
}
