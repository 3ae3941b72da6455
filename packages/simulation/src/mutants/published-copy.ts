import * as client from "@quorlock/redlock";
import * as internal from "@quorlock/redlock/internal";
import * as lead from "@quorlock/redlock/lead";
import * as once from "@quorlock/redlock/once";
import * as readWrite from "@quorlock/redlock/read-write-lock";
import * as semaphore from "@quorlock/redlock/semaphore";
import type { ClientCopy } from "./mutated-client.ts";

/** The client as it is. */
export const publishedCopy: ClientCopy = {
  module: { ...client, ...internal, ...lead, ...once, ...readWrite, ...semaphore },
  connections: (same) => same,
  runtime: (same) => same,
};
