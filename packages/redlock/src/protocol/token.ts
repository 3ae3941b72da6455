import type { Runtime } from "../time/runtime.ts";

/** 128 random bits as 32 hexadecimal characters, as redlock 5 writes them (PROTOCOL 2.1). */
export function newToken(runtime: Runtime): string {
  const bytes = runtime.randomBytes(16);
  for (let index = 0; index < bytes.length; index += 1) {
    characters[2 * index] = hexadecimal[bytes[index]! >> 4]!;
    characters[2 * index + 1] = hexadecimal[bytes[index]! & 15]!;
  }
  // In one go: a string that is put together piece by piece is kept in its pieces.
  return String.fromCharCode(...characters);
}

const hexadecimal = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));
const characters: number[] = hexadecimal.concat(hexadecimal);

/** The token of the first round of somebody who waits only once: see {@link isOfWaiter}. */
export function firstToken(runtime: Runtime): string {
  return `${newToken(runtime)}.1`;
}

/** Of one who knows the queue, and gives up by handing over: its tokens end with the number of a round. */
export function isOfWaiter(token: string): boolean {
  return /\.\d+$/.test(token);
}

/** Whose a token is: without the number of its round. */
export function waiterOf(token: string): string {
  const dot = token.lastIndexOf(".");
  return dot < 0 ? token : token.slice(0, dot);
}
