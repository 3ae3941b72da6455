import { resolve } from "node:path";
import { Child, type Ending, withMessages } from "@quorlock/simulation/processes";
import type { Fixture } from "../fixture.ts";
import { outcomeOf } from "../outcome.ts";
import type { HolderMessage, HolderTask } from "./holder-process.ts";

export const repositoryRoot: string = resolve(import.meta.dirname, "../../..");

/** A process that holds a lock by the library of the fixture, and ends with the fixture. */
export function startHolder(
  fixture: Fixture,
  task: Omit<HolderTask, "library" | "resource">,
): Child<HolderMessage> {
  const whole: HolderTask = { ...task, library: fixture.library.name, resource: fixture.resource };
  const program = new URL("holder-process.ts", import.meta.url);
  const options = { cwd: repositoryRoot, stdio: withMessages };
  return fixture.use(Child.node<HolderMessage>(program, [JSON.stringify(whole)], options));
}

/** `undefined` if the message does not come within `limit` ms; throws if the process ends without it. */
export async function messageOf<K extends HolderMessage["kind"]>(
  child: Child<HolderMessage>,
  kind: K,
  limit: number,
): Promise<Extract<HolderMessage, { kind: K }> | undefined> {
  const outcome = await outcomeOf(() => child.message(kind), limit);
  if (outcome.kind === "rejected") throw outcome.error;
  return outcome.kind === "resolved" ? outcome.value : undefined;
}

/** The time a process gets to finish, ms. */
const endLimit = 10_000;

/** How it ended; `undefined` if it did not in time. */
export async function endingOf(child: Pick<Child, "ended">): Promise<Ending | undefined> {
  const outcome = await outcomeOf(() => child.ended, endLimit);
  return outcome.kind === "resolved" ? outcome.value : undefined;
}

export function endingInWords(ending: Ending | undefined): string {
  if (!ending) return `still there after ${endLimit} ms`;
  const trace = ending.code === 0 ? "" : ` ${errorLineOf(ending)}`;
  return `exit code ${ending.code ?? ending.signal}${trace}`;
}

/** The first line that looks like an error, without the places of this machine: the table is published. */
export function errorLineOf({ errors, output }: Pick<Ending, "errors" | "output">): string {
  const line = `${errors}\n${output}`.split("\n").find((one) => one.includes("rror")) ?? "";
  return line.replaceAll(repositoryRoot, "").trim().slice(0, 160);
}
