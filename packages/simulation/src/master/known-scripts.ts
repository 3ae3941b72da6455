import * as client from "@quorlock/redlock/internal";
import { compiledScripts } from "../lua/client.generated.ts";
import type { CompiledScript } from "./redis-library.ts";

/** Each of the client's scripts by the name that it exports it under. */
export type ScriptName = {
  [Name in keyof typeof client]: (typeof client)[Name] extends client.Script ? Name : never;
}[keyof typeof client];

/** A script that masters can run. */
export interface KnownScript {
  /** Of the client's, a {@link ScriptName}. */
  readonly name: string;
  readonly script: client.Script;
  readonly run: CompiledScript;
}

export const clientScripts: Readonly<Record<ScriptName, client.Script>> = Object.fromEntries(
  Object.entries(client).filter(([, value]) => isScript(value)),
) as Record<ScriptName, client.Script>;

function isScript(value: unknown): value is client.Script {
  return typeof value === "object" && value !== null && "source" in value && "sha1" in value;
}

const known = new Map<string, KnownScript>();

/** Makes a script known to every master. A digest means one text: twice is no harm. */
export function know(name: string, script: client.Script, run: CompiledScript): void {
  const one = { name, script, run };
  known.set(script.sha1, one).set(script.source, one);
}

/** `word`: its digest, or its text. A script is sent either way. */
export function knownScript(word: string): KnownScript | undefined {
  return known.get(word);
}

// (One that is not compiled is of another version of the client: masters refuse it.)
for (const [name, script] of Object.entries(clientScripts)) {
  const run = compiledScripts[script.sha1];
  if (run) know(name, script, run);
}
