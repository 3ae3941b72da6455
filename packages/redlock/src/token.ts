import type { Runtime } from "./runtime.ts";

/** 128 random bits as 32 hexadecimal characters, as redlock 5 writes them (PROTOCOL 2.1). */
export function newToken(runtime: Runtime): string {
  const characters: number[] = [];
  for (const byte of runtime.randomBytes(16)) characters.push(hexadecimal[byte >> 4]!, hexadecimal[byte & 15]!);
  // In one go: a string that was put together is kept in its pieces.
  return String.fromCharCode(...characters);
}

const hexadecimal = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** The token of the first round of somebody who waits only once: see {@link isOfWaiter}. */
export function firstToken(runtime: Runtime): string {
  return `${newToken(runtime)}.1`;
}

/** Of one who knows the queue, and gives up by handing over: its tokens end with the number of a round. */
export function isOfWaiter(token: string): boolean {
  return /\.\d+$/.test(token);
}
