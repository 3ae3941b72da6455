import { randomBytes } from "node:crypto";
import type { Connection, LockNode } from "@quorlock/redlock/internal";
import type { MasterView, Path } from "./driver.ts";
import { expect } from "./framework.ts";

/** Long enough that nothing expires during a case. */
export const long = 60_000;
/** The ttl of a key that a case looks at again, ms: far above the duration of the case, far below {@link long}. */
export const slack = 15_000;

export interface TestClaim {
  resources: readonly string[];
  token: string;
  ttl: number;
  abandoned: boolean;
}

export interface Context {
  readonly master: MasterView;
  readonly path: Path;
  /** A node with a ready connection, new for each case. */
  node: LockNode;
  /** One more. */
  connect(): LockNode;
  /** A connection without a node. */
  connectOnly(): Connection;
}

/** Resource names that no other case and no earlier run uses. */
const run = randomBytes(4).toString("hex");
let cases = 0;

/** A claim with a new token, for the given resources; default: new ones, in one slot of a Cluster. */
export function claimOf(
  resources: number | readonly string[],
  ttl: number = long,
  token?: string,
): TestClaim {
  const names =
    typeof resources === "number"
      ? Array.from({ length: resources }, (_, index) => `{contract-${run}-${cases}}:${index}`)
      : resources;
  cases += 1;
  return { resources: names, token: token ?? randomBytes(16).toString("hex"), ttl, abandoned: false };
}

export async function expectKey(
  context: Context,
  resource: string,
  token: string,
  ttl: number,
): Promise<void> {
  expect(await context.master.get(resource)).toBe(token);
  const left = await context.master.pttl(resource);
  expect(left).toBeGreaterThan(ttl - slack);
  expect(left).toBeLessThanOrEqual(ttl);
}
