import { SimulatedConnection } from "../network/simulated-connection.ts";
import type { MutantRows } from "./mutant.ts";

/**
 * Faults in the handling of masters that are one server: PROTOCOL 2.8. Each must be found in runs in which two masters
 * are one.
 */
export const sharedServerMutants: MutantRows = {
  "a server votes once for each of its addresses": {
    breaks: ["2.8"],
    edits: { "safeguards/distinct-masters.ts #judge condition": "false" },
  },
};

/** To be found where addresses change places (PROTOCOL 2.10), and one holder has votes by both addresses of a server. */
export const movedVoteMutant: MutantRows = {
  "the vote of a server by its old address counts beside the one by its new address": {
    breaks: ["2.10"],
    edits: { "safeguards/distinct-masters.ts #moveVotes body": "{ void [before, index]; }" },
  },
};

/** To be found where a claim waits for the first connection to a server that has voted by another address. */
export const waitingClaimMutant: MutantRows = {
  "a claim that has waited for its connection is sent to a server that has voted": {
    breaks: ["2.10"],
    edits: { "redis/master.ts #postWhenConnected 2.10 value": "false" },
  },
};

/** To be found where addresses change places (PROTOCOL 2.9). */
export const busyServerMutant: MutantRows = {
  "a server that is too busy to say which one it is still counts": {
    from: 12,
    breaks: ["2.9"],
    connections: (connections) => {
      for (const connection of connections)
        if (connection instanceof SimulatedConnection) connection.takesBusyForNoId = true;
      return connections;
    },
  },
};
