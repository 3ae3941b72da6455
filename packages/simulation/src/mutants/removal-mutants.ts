import type { MutantRows } from "./mutant.ts";

/** Faults in what an extension makes of keys that masters have forgotten: PROTOCOL 4.7. Each leaves a holder untold. */
export const removalMutants: MutantRows = {
  "gaps of a quorum are repaired": {
    breaks: ["4.7"],
    edits: { "protocol/gaps.ts missed 4.7 condition": "false" },
  },
  "a repair undoes the gap that it ends": {
    breaks: ["4.7"],
    from: 70,
    edits: { "protocol/gaps.ts found all": "const all = [still, still];" },
  },
};
