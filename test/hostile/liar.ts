import type { Socket } from "node:net";
import {
  batchScript,
  claimScript,
  enqueueScript,
  guardedClaimScript,
  guardedLeaveScript,
  leaveScript,
  releaseBatchScript,
  releaseScript,
  voteBatchScript,
} from "@quorlock/redlock/internal";
import { questionsIn } from "../../packages/simulation/src/master/batch-list.ts";
import type { Answer } from "./hostile-server.ts";

/** One operation of a lock, as the batch script names it; see there. */
export interface Asked {
  readonly kind: string;
  readonly keys: readonly string[];
  /** ms; what the operation asks for. */
  readonly ttl: number;
  /** Whether a fencing token is proposed. */
  readonly isFenced: boolean;
}

/** The parts of a reply; text that begins with `RESP:` goes out as it is. */
export type Said = number | string | null | readonly Said[] | { readonly raw: string };

/** The true answers of a master without locks. */
export function honestly({ kind, keys, ttl, isFenced }: Asked): Said {
  if (kind === "r" || kind === "l") return keys.length;
  if (kind === "f") return 1;
  if (kind === "i") return [null, -2, 0];
  if (kind === "h") return [0, -2, "", 2, "0"];
  if (kind === "c") return [String(Math.floor(Date.now() / 1000)), "0"];
  return isFenced ? [-1, ttl, "0"] : ttl;
}

/** Takes the place of a master whose connection and commands are in order, and whose numbers are what `lie` says. */
export function liar(lie: (asked: Asked) => Said | undefined): Answer {
  const say = (asked: Asked): Said => lie(asked) ?? honestly(asked);
  return (socket, command, words) => {
    if (!socket.writable) return;
    if (command === "PING") socket.write(bytesOf(words[1] ?? "PONG"));
    else if (command === "SUBSCRIBE") subscribe(socket, words[1]!);
    else if (command === "SET") socket.write("+OK\r\n");
    else if (command === "EVALSHA" || command === "EVAL") socket.write(bytesOf(saidTo(words, say)));
    else socket.write("$-1\r\n");
  };
}

/** The subscribers of each channel, so that a test can push. */
const listeners = new Map<string, Socket>();

function subscribe(socket: Socket, channel: string): void {
  listeners.set(channel, socket);
  socket.write(`>3\r\n+subscribe\r\n${bytesOf(channel)}:1\r\n`);
}

/** Pushes a message to the client that has subscribed to the channel at a liar. */
export function push(channel: string, message: string): void {
  listeners.get(channel)?.write(`>3\r\n+message\r\n${bytesOf(channel)}${bytesOf(message)}`);
}

function saidTo([, text, count, ...rest]: readonly string[], say: (asked: Asked) => Said): Said {
  const keys = rest.slice(0, Number(count));
  const args = rest.slice(Number(count));
  const isThe = ({ sha1, source }: { sha1: string; source: string }): boolean =>
    text === sha1 || text === source;
  if (isThe(batchScript)) {
    return questionsIn(args[0]!, keys, args.slice(1))
      .filter(({ kind }) => kind !== "g")
      .map(({ kind, keys, numbers, proposal }) =>
        say({ kind, keys, ttl: Number(numbers[0]), isFenced: proposal !== "" }),
      );
  }
  if (isThe(voteBatchScript)) {
    return keys.map((key) => say({ kind: "v", keys: [key], ttl: Number(args[0]), isFenced: false }));
  }
  if (isThe(releaseBatchScript))
    return keys.map((key) => say({ kind: "l", keys: [key], ttl: 0, isFenced: false }));
  if (isThe(releaseScript)) return say({ kind: "r", keys, ttl: 0, isFenced: false });
  if (isThe(leaveScript) || isThe(guardedLeaveScript))
    return say({ kind: "l", keys, ttl: 0, isFenced: false });
  if (isThe(guardedClaimScript))
    return say({ kind: args[0]!, keys, ttl: Number(args[2]), isFenced: args[3] !== "" });
  if (isThe(enqueueScript)) return say({ kind: "q", keys, ttl: Number(args[1]), isFenced: args[4] !== "" });
  if (isThe(claimScript)) return say({ kind: "v", keys, ttl: Number(args[1]), isFenced: Boolean(args[3]) });
  return null;
}

function bytesOf(said: Said): string {
  if (said === null) return "$-1\r\n";
  if (typeof said === "number") return `:${said}\r\n`;
  if (typeof said === "string") return `$${Buffer.byteLength(said)}\r\n${said}\r\n`;
  if ("raw" in said) return said.raw;
  return `*${said.length}\r\n${said.map(bytesOf).join("")}`;
}
