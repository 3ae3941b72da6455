import { acquire } from "./acquire.ts";
import { admission } from "./admission.ts";
import { assumptionsAndPromises } from "./assumptions-and-promises.ts";
import type { Behaviour } from "./bench.ts";
import { clocksOfMasters } from "./clocks.ts";
import { closing } from "./closing.ts";
import { deadlines } from "./deadlines.ts";
import { extend } from "./extend.ts";
import { fencingTokens } from "./fencing.ts";
import { forgottenKeys } from "./forgotten-keys.ts";
import { holding } from "./holding.ts";
import { lateCommands } from "./late-commands.ts";
import { load } from "./load.ts";
import { onTheWire } from "./on-the-wire.ts";
import { owners } from "./owners.ts";
import { primitives } from "./primitives.ts";
import { queueTimes } from "./queue-times.ts";
import { readme } from "./readme.ts";
import { reentrancy } from "./reentrancy.ts";
import { release } from "./release.ts";
import { restarts } from "./restart-guard.ts";
import { retrying } from "./retrying.ts";
import { waiting } from "./waiting.ts";

/** The cases, by the sections of docs/protocol.md, and those of README.md. */
export const sections: Readonly<Record<string, readonly Behaviour[]>> = {
  "1. Assumptions and promises": assumptionsAndPromises,
  "2. Acquire": acquire,
  "3. Deadlines and lease time": deadlines,
  "4. Extend": [...extend, ...forgottenKeys],
  "5. Release and detach": [...release, ...closing],
  "6. Late commands": lateCommands,
  "7. Waiting in a queue": [...waiting, ...queueTimes],
  "8. Fencing tokens": fencingTokens,
  "9. Restart guard": restarts,
  "10. Other primitives": [...primitives, ...reentrancy],
  "11. Clocks of the masters": clocksOfMasters,
  "12. Batches, send window and admission": [...load, ...admission],
  "13. On the wire": onTheWire,
  README: [...readme, ...holding, ...retrying, ...owners],
};
