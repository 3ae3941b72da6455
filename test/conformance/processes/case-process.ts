import { NotOfferedError } from "@quorlock/peers";
import { mastersOf, nameOf, type Verdict } from "../case.ts";
import { cases } from "../cases.ts";
import { type Address, Fixture } from "../fixture.ts";
import { libraryNamed } from "../libraries/libraries.ts";
import { errorInWords, outcomeOf } from "../outcome.ts";

// One case and one library, in a separate process: whatever the library leaves behind, timers, a blocked event
// loop, an exit, is no other case's. Says what was observed, and ends.

export interface CaseTask {
  readonly library: string;
  readonly name: string;
  readonly masters: readonly Address[];
}

export interface CaseResult {
  readonly mark: "conforms" | "FAILS" | "n/a";
  readonly observed: string;
}

export interface CaseMessage {
  readonly kind: "result";
  readonly result: CaseResult;
}

const disposalLimit = 5000;

const { library: libraryName, name, masters } = JSON.parse(process.argv[2] ?? "") as CaseTask;
const one = cases.find((candidate) => nameOf(candidate) === name);
if (!one) throw new Error(`there is no case "${name}"`);

let unhandled = 0;
process.on("unhandledRejection", () => {
  unhandled += 1;
});

function resultOf({ conforms, observed }: Verdict): CaseResult {
  const rejections = unhandled > 0 ? `; ${unhandled} unhandled rejections` : "";
  return { mark: conforms ? "conforms" : "FAILS", observed: `${observed}${rejections}` };
}

const library = await libraryNamed(libraryName);
const fixture = await Fixture.start(library, masters.slice(0, mastersOf(one)));
let result: CaseResult;
try {
  result = resultOf(await one.run(fixture));
} catch (error) {
  if (error instanceof NotOfferedError) result = { mark: "n/a", observed: error.message };
  else result = resultOf({ conforms: false, observed: errorInWords(error) });
}
await outcomeOf(() => fixture[Symbol.asyncDispose](), disposalLimit);
// Some libraries never let go of their timers.
process.send?.({ kind: "result", result } satisfies CaseMessage, () => process.exit());
