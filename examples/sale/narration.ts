import type { Narrator } from "../fixture/narrator.ts";
import type { Hold, Ledger } from "./ledger.ts";
import { stockSize } from "./terms.ts";

const barLength = 20;

/** Prints every `step`th sale. */
export function follow(narrator: Narrator, ledger: Ledger, hold: Hold, step: number): void {
  const { sold } = ledger;
  if (!hold.sold || sold % step > 0) return;
  const filled = Math.min(barLength, Math.round((sold / stockSize) * barLength));
  const bar = "█".repeat(filled) + "░".repeat(barLength - filled);
  const colour = sold > stockSize ? "red" : "green";
  // A difference means that one sale has overwritten another.
  const left = stockSize - sold === hold.left ? "" : `; the stock file says ${hold.left} are left`;
  narrator.event(
    "sold",
    colour,
    `${narrator.paint(colour, bar)} ${`${sold}`.padStart(4)}${left}`,
    hold.ended,
  );
}
