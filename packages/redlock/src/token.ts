import type { Runtime } from "./runtime.ts";

/** 128 random bits as 32 hexadecimal characters, as redlock 5 writes them (PROTOCOL 2.1). */
export function newToken(runtime: Runtime): string {
  let token = "";
  const bytes = runtime.randomBytes(16);
  for (let index = 0; index < bytes.length; index += 1) token += hexadecimal[bytes[index]!];
  return token;
}

const hexadecimal = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The token of the first round of somebody who waits only once: see {@link isOfWaiter}. */
export function firstToken(runtime: Runtime): string {
  return `${newToken(runtime)}.1`;
}

/** Of one who knows the queue, and gives up by handing over: its tokens end with the number of a round. */
export function isOfWaiter(token: string): boolean {
  return /\.\d+$/.test(token);
}
