import { argv } from "node:process";
import { NotOfferedError } from "@quorlock/peers";
import type { Behaviour } from "../behaviours/bench.ts";
import { RealMasters } from "../behaviours/real.ts";
import { missing, setupOf } from "./lookalike.ts";
import { cases, nameOf } from "./promises.ts";

// A process that plays cases with one library, until one of them has failed: what that has left behind, such as timers, is
// no other case's.

export interface Result {
  readonly mark: "conforms" | "fails" | "not offered";
  /** The message of a failed case, or the part that the library lacks. */
  readonly why?: string;
}

/** Its messages: that its masters are there, and what came of one case after the other. */
export type Said = { readonly kind: "begins" } | ({ readonly kind: "played" } & Result);

const [library, ...names] = argv.slice(2);
/** They would end a process that does not listen. */
const unhandled: Error[] = [];
process.on("unhandledRejection", (error) => unhandled.push(new Error(`nobody can catch: ${inALine(error)}`)));
process.once("disconnect", () => process.exit());

const masters = await RealMasters.start(await setupOf(library!));
await say({ kind: "begins" });
for (const name of names) {
  const result = await resultOf(cases.find((one) => nameOf(one) === name)!);
  await say({ kind: "played", ...result });
  if (result.mark === "fails") break;
}
await masters[Symbol.asyncDispose]();
process.exit();

function say(said: Said): Promise<unknown> {
  return new Promise((resolve) => process.send!(said, resolve));
}

async function resultOf(one: Behaviour): Promise<Result> {
  missing.length = 0;
  unhandled.length = 0;
  const error: unknown = await masters.play(one).then(
    () => unhandled[0],
    (reason: unknown) => reason,
  );
  if (error instanceof NotOfferedError) return { mark: "not offered", why: error.message };
  if (missing.length > 0) return { mark: "not offered", why: missing[0]! };
  return error === undefined ? { mark: "conforms" } : { mark: "fails", why: inALine(error) };
}

function inALine(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll(/\s+/g, " ").slice(0, 160);
}
