import { type Reply, ReplyError } from "../master/reply.ts";

/** A short text that is no value: `OK`, `PONG`. */
export class Status {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Text for people: RESP3 has a type for it. */
export class Prose {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A message that the server sends without a request: RESP3 has a type for it. */
export class Push {
  readonly elements: readonly Reply[];

  constructor(...elements: readonly Reply[]) {
    this.elements = elements;
  }
}

/** A reply on the wire: replies of the model, and replies that only the protocol knows. */
export type WireReply =
  | Reply
  | Status
  | Prose
  | Push
  | ReplyError
  | ReadonlyMap<string, WireReply>
  | readonly WireReply[];

export type Protocol = 2 | 3;

/** RESP, to be written as Latin-1: every character is one byte, so keys and values may be any bytes. */
export function encoded(reply: WireReply, protocol: Protocol): string {
  if (reply === null) return protocol === 3 ? "_\r\n" : "$-1\r\n";
  if (typeof reply === "string") return bulk(reply);
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (reply instanceof Status) return `+${reply.text}\r\n`;
  if (reply instanceof ReplyError) return `-${reply.message.replaceAll(/[\r\n]/g, " ")}\r\n`;
  if (reply instanceof Prose) {
    return protocol === 3 ? `=${reply.text.length + 4}\r\ntxt:${reply.text}\r\n` : bulk(reply.text);
  }
  if (reply instanceof Push) {
    const elements = reply.elements.map((element) => encoded(element, protocol)).join("");
    return `${protocol === 3 ? ">" : "*"}${reply.elements.length}\r\n${elements}`;
  }
  if (reply instanceof Map) {
    const fields = [...(reply as ReadonlyMap<string, WireReply>)]
      .flat()
      .map((part) => encoded(part, protocol));
    return protocol === 3
      ? `%${reply.size}\r\n${fields.join("")}`
      : `*${fields.length}\r\n${fields.join("")}`;
  }
  const elements = reply as readonly WireReply[];
  return `*${elements.length}\r\n${elements.map((element) => encoded(element, protocol)).join("")}`;
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`;
}
