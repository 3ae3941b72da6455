import type { Runtime } from "./runtime.ts";

/** 128 random bits as 32 hexadecimal characters, as redlock 5 writes them (PROTOCOL 2.1). */
export function newToken(runtime: Runtime): string {
  let token = "";
  for (const byte of runtime.randomBytes(16)) token += hexadecimal[byte];
  return token;
}

const hexadecimal = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
