import type { Case } from "./case.ts";
import { cleanUp } from "./cases/clean-up.ts";
import { contention } from "./cases/contention.ts";
import { database } from "./cases/database.ts";
import { detached } from "./cases/detached.ts";
import { forgotten } from "./cases/forgotten.ts";
import { listeners } from "./cases/listeners.ts";
import { loss } from "./cases/loss.ts";
import { moves } from "./cases/moves.ts";
import { packages } from "./cases/package.ts";
import { processes } from "./cases/process.ts";
import { refusals } from "./cases/refusals.ts";
import { renewal } from "./cases/renewal.ts";
import { settling } from "./cases/settling.ts";
import { sharedServer } from "./cases/shared-server.ts";
import { strayClocks } from "./cases/stray-clocks.ts";
import { validity } from "./cases/validity.ts";

/** Every row. The longest come first, so that the others can run beside them. */
export const cases: readonly Case[] = [
  ...loss,
  ...renewal,
  ...processes,
  ...settling,
  ...validity,
  ...contention,
  ...cleanUp,
  ...database,
  ...refusals,
  ...detached,
  ...listeners,
  ...forgotten,
  ...moves,
  ...sharedServer,
  ...strayClocks,
  ...packages,
];
