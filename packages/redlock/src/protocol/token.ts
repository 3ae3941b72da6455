import type { Runtime } from "../time/runtime.ts";

/** 128 random bits as 32 hexadecimal characters, as redlock 5 writes them (PROTOCOL 2.1). */
export function newToken(runtime: Runtime): string {
  const bytes = runtime.randomBytes(16);
  for (let index = 0; index < bytes.length; index += 1) {
    characters[2 * index] = hexadecimal[bytes[index]! >> 4]!;
    characters[2 * index + 1] = hexadecimal[bytes[index]! & 15]!;
  }
  // In one call: V8 keeps a string that is concatenated piece by piece as its pieces.
  return String.fromCharCode(...characters);
}

const hexadecimal = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));
const characters: number[] = hexadecimal.concat(hexadecimal);

/** The token of the first round of a waiter: see {@link isOfWaiter}. */
export function firstToken(runtime: Runtime): string {
  return `${newToken(runtime)}.1`;
}

/**
 * Whether the token belongs to a client that uses queues and grants the lock at the release: such a token ends with
 * the number of a round.
 */
export function isOfWaiter(token: string): boolean {
  return /\.\d+$/.test(token);
}

/**
 * A token as answers show it, also on the wire (PROTOCOL 2.17): its beginning tells owners apart, and the number of a
 * round is kept.
 */
export function masked(token: string): string {
  const [, waiter = token, round = ""] = /^(.*)(\.\d+)$/s.exec(token) ?? [];
  const shown = Math.min(8, Math.floor(waiter.length / 2));
  return waiter.slice(0, shown) + "*".repeat(waiter.length - shown) + round;
}

/** The part of a token that identifies the waiter: all but the number of the round. */
export function waiterOf(token: string): string {
  const dot = token.lastIndexOf(".");
  return dot < 0 ? token : token.slice(0, dot);
}
