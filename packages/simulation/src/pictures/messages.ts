import { DefaultMap } from "../default-map.ts";
import type { TraceValue } from "../engine/trace.ts";
import { knownScript } from "../master/known-scripts.ts";
import { Numbering } from "./numbering.ts";
import type { Message } from "./picture.ts";

/** More would make a page that opens slowly. Messages that belong to locks are kept first. */
const maxMessages = 60_000;

interface Sent {
  readonly client: number;
  readonly master: number;
  readonly sent: number;
  ran: number;
  heard: number;
  lost: number;
  readonly command: number;
  reply: number;
  readonly args: readonly string[];
}

/** Every command from its sending to its reply. */
export class MessagesDrawing {
  readonly #texts = new Numbering();
  readonly #all: Sent[] = [];
  /** Messages in flight, by connection and then by number. */
  readonly #underWay = new DefaultMap<string, Map<unknown, Sent>>(() => new Map());

  see(at: number, verb: string, client: number, master: number, args: readonly TraceValue[]): void {
    const connection = this.#underWay.get(`${client} ${master}`);
    const [number, second, third] = args;
    if (verb === "sends") {
      const words = args.slice(2).map(String);
      const command = this.#texts.numberOf(commandText(String(second), words));
      const never = { ran: -1, heard: -1, lost: -1, reply: -1 };
      const its = { client, master, sent: at, ...never, command, args: words };
      this.#all.push(its);
      connection.set(number, its);
    }
    const sent = connection.get(number);
    if (verb === "runs" && sent) {
      sent.ran = at;
      sent.reply = this.#texts.numberOf(shortened(String(third)));
    } else if (verb === "hears") {
      if (sent) sent.heard = at;
      connection.delete(number);
    }
    // The client learns that its connection is gone: what is unanswered stays so, though it may still be run.
    else if (verb === "loses") for (const lost of connection.values()) if (lost.lost < 0) lost.lost = at;
  }

  /** `tokens` are those that masters kept, `ofHolds` those that became a hold. */
  finish(tokens: Numbering, ofHolds: ReadonlySet<number>): { messages: Message[]; leftOut: number } {
    const all = this.#all.map(({ args, ...sent }): Message => {
      const token = args.map((arg) => tokens.find(arg)).find((number) => number >= 0) ?? -1;
      const { client, master, ran, heard, lost, command, reply } = sent;
      return [client, master, sent.sent, ran, heard, lost, command, reply, token];
    });
    const messages = fewest(all, ofHolds).sort(([, , left], [, , right]) => left - right);
    return { messages, leftOut: all.length - messages.length };
  }

  get texts(): readonly string[] {
    return this.#texts.names;
  }
}

function fewest(all: Message[], ofHolds: ReadonlySet<number>): Message[] {
  if (all.length <= maxMessages) return all;
  const matters = (message: Message): boolean => ofHolds.has(message[8]);
  return [...all.filter(matters), ...all.filter((message) => !matters(message))].slice(0, maxMessages);
}

/** A script by its name, a token by its first characters. */
function commandText(command: string, args: readonly string[]): string {
  if (command === "EVALSHA" || command === "EVAL") {
    const [script = "", ...rest] = args;
    return [command, scriptName(script), ...rest].map(shortened).join(" ");
  }
  return [command, ...args].map(shortened).join(" ");
}

function scriptName(script: string): string {
  return `<${knownScript(script)?.name.replace("Script", "") ?? "script"}>`;
}

/** A long word (a token, a digest) is known by its beginning; a text is cut. */
function shortened(text: string): string {
  const words = text.replaceAll(/[0-9a-zA-Z+/=_-]{20,}/g, (word) => `${word.slice(0, 6)}…`);
  return words.length > 120 ? `${words.slice(0, 119)}…` : words;
}
