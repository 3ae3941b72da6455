import type { Runtime } from "./runtime.ts";

/** 128 random bits as 32 hexadecimal characters, as redlock 5 writes them (PROTOCOL 2.1). */
export function newToken(runtime: Runtime): string {
  let token = "";
  const bytes = runtime.randomBytes(16);
  for (let index = 0; index < bytes.length; index += 1) token += hexadecimal[bytes[index]!];
  return token;
}

const hexadecimal = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
