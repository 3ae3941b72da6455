import {
  type ClockedMasters,
  type Masters,
  NoMastersError,
  startMasters,
  startMastersWithClocks,
} from "@quorlock/testbed";
import type { Mode } from "./plan/plan.ts";
import { masterCount } from "./terms.ts";

/** Masters for a mode: that forget nothing, or that forget everything and whose clocks can be set. */
export async function mastersFor(mode: Mode, say: (line: string) => void): Promise<Masters | ClockedMasters> {
  const masters = await found(mode, say);
  if (masters.list.every(({ controllable }) => controllable)) return masters;
  await masters.stop();
  throw new NoMastersError("the masters of REDLOCK_NODES are not ours to kill: unset it");
}

async function found(mode: Mode, say: (line: string) => void): Promise<Masters | ClockedMasters> {
  if (mode === "safe") return startMasters(masterCount, { persistence: "aof-always", say });
  try {
    return await startMastersWithClocks(masterCount, { say });
  } catch (error) {
    if (!(error instanceof NoMastersError)) throw error;
    say(`no clock is set in this run: ${error.message}`);
    return startMasters(masterCount, { say });
  }
}
