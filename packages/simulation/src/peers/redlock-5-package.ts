import * as crypto from "node:crypto";
import * as events from "node:events";
import { createRequire } from "node:module";
import { compileFunction } from "node:vm";
import type { Runtime } from "@quorlock/redlock";
import { build } from "esbuild";
import { type LoadRedlock5, loading, parameters, scriptsOf } from "./redlock-5-module.ts";

const require = createRequire(import.meta.url);

async function text(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [require.resolve("redlock")],
    bundle: true,
    write: false,
    format: "cjs",
    platform: "node",
  });
  return outputFiles[0]!.text;
}

export async function redlock5Package(): Promise<LoadRedlock5> {
  const define = compileFunction(await text(), parameters);
  return loading((...surroundings) => define(...surroundings), modulesOf);
}

function modulesOf(runtime: Runtime): Readonly<Record<string, unknown>> {
  const randomBytes = (count: number): Buffer => Buffer.from(runtime.randomBytes(count));
  return { crypto: { ...crypto, randomBytes }, events };
}

/** The package as a module for browsers: the function that defines it, and the digests of its scripts, by their text. */
export async function redlock5Source(): Promise<string> {
  const scripts = Array.from(scriptsOf(await redlock5Package()).values(), ({ source, sha1 }) => [
    source,
    sha1,
  ]);
  return [
    `export const digests = ${JSON.stringify(Object.fromEntries(scripts))};`,
    `export function define(${parameters.join(", ")}) {\n${await text()}\n}`,
  ].join("\n");
}
