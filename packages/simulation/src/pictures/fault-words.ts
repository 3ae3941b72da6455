import type { Fault } from "../plan/fault.ts";

/** A fault in words, and until when it lasts (true time, us; begun at `at`). `struck` are those that it befell. */
export function describeFault(
  fault: Fault,
  struck: readonly string[],
  at: number,
): { readonly words: string; readonly until: number } {
  const lasting = "duration" in fault ? fault.duration : fault.kind === "crash" ? fault.downFor : 0;
  return { words: `${deed(fault)}: ${listed(struck)}`, until: at + Math.round(lasting * 1000) };
}

function deed(fault: Fault): string {
  switch (fault.kind) {
    case "freeze":
      return `frozen for ${ms(fault.duration)}`;
    case "suspend":
      return `suspended for ${ms(fault.duration)}`;
    case "stall":
      return `stalled in the middle of a turn, for ${ms(fault.duration)}`;
    case "rate":
      return `clock rate ${signed(fault.rate)} ppm`;
    case "step":
      return `wall clock set by ${signed(fault.by)} ms`;
    case "cut":
      return `cut off, ${directions[fault.direction]}, for ${ms(fault.duration)}${fault.ending === "reset" ? ", then reset" : ""}`;
    case "reset":
      return `connections reset, requests on their way ${fault.inFlight}${fault.late ? `, ${ms(fault.late)} late` : ""}`;
    case "slow":
      return `network ${Math.round(fault.factor)} times slower for ${ms(fault.duration)}`;
    case "crash":
      return `${fault.how === "power" ? "lost power" : "crashed"}, down for ${ms(fault.downFor)}`;
    case "flush":
      return "emptied (FLUSHALL)";
    case "refuse":
      return `refuses to write (${fault.why}) for ${ms(fault.duration)}`;
    case "busy":
      return `busy (a script runs) for ${ms(fault.duration)}`;
    case "reshard":
      return `moves the slot of the locks, a key each ${ms(fault.pause)}, for ${ms(fault.duration)}`;
    case "move":
      return `addresses lead to master ${fault.to} for ${ms(fault.duration)}`;
    case "promote":
      return `replaced by a replica that lacks the last ${ms(fault.lag)}`;
    case "failover":
      return (
        `replaced by a replica that lacks the last ${ms(fault.lag)} for ${ms(fault.duration)}` +
        (fault.demoted ? ", and made a replica before it comes back" : "")
      );
    case "resync":
      return `resynchronised from a replica that lacks the last ${ms(fault.lag)}, and promoted back`;
    case "reload":
      return `reloads a snapshot that lacks the last ${ms(fault.lag)}`;
    case "select":
      return `switched to another database for ${ms(fault.duration)}`;
    case "kill":
      return "killed";
  }
}

/** "client-1, masters 0, 2": the deed comes first, as there may be no room for all of them. */
function listed(struck: readonly string[]): string {
  const kinds = [...new Set(struck.map((name) => name.split("-")[0]!))];
  const groups = kinds.map((kind) => {
    const names = struck.filter((name) => name.startsWith(kind));
    const numbers = names.map((name) => name.slice(kind.length + 1));
    return names.length === 1 ? names[0]! : `${kind}s ${numbers.join(", ")}`;
  });
  return groups.join(", ") || "none";
}

const directions = { requests: "requests only", replies: "replies only", both: "both ways" } as const;

function ms(duration: number): string {
  return `${duration.toLocaleString("en", { maximumFractionDigits: 1 })} ms`;
}

function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${value.toLocaleString("en")}`;
}
