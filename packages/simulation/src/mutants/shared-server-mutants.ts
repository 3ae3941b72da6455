import type { Mutant } from "./mutant.ts";

/** What is wrong with masters that are one server: PROTOCOL 2.8. To be found where two masters are. */
export const sharedServerMutants: readonly Mutant[] = [
  {
    name: "a server votes once for each of its addresses",
    edits: [
      {
        file: "safeguards/distinct-masters.ts",
        line: "if (sharing) this.#refuse(index, sharing);",
        instead: "if (false) this.#refuse(index, sharing);",
      },
    ],
  },
];
