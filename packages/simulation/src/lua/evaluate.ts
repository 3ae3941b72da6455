import { compileFunction } from "node:vm";
import type { CompiledScript } from "../master/redis-library.ts";
import { compiled } from "./compile.ts";
import { scope } from "./library.ts";

/** A script that nobody has compiled before: that of a mutant, or of a test. */
export function evaluated(source: string): CompiledScript {
  const build = compileFunction(`"use strict"; return ${compiled(source)};`, Object.keys(scope));
  return build(...Object.values(scope)) as CompiledScript;
}
