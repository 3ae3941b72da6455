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
  readonly #underWay = new Map<string, Map<unknown, Sent>>();

  send(at: number, client: number, master: number, [number, command, ...rest]: readonly TraceValue[]): void {
    const args = rest.map(String);
    const text = this.#texts.numberOf(commandText(String(command), args));
    const sent = { client, master, sent: at, ran: -1, heard: -1, lost: -1, command: text, reply: -1, args };
    this.#all.push(sent);
    this.#on(client, master).set(number, sent);
  }

  run(at: number, client: number, master: number, [number, , reply]: readonly TraceValue[]): void {
    const sent = this.#on(client, master).get(number);
    if (!sent) return;
    sent.ran = at;
    sent.reply = this.#texts.numberOf(shortened(String(reply)));
  }

  hear(at: number, client: number, master: number, [number]: readonly TraceValue[]): void {
    const connection = this.#on(client, master);
    const sent = connection.get(number);
    if (sent) sent.heard = at;
    connection.delete(number);
  }

  /** The client learns that its connection is gone: what is unanswered stays so, though it may still be run. */
  lose(at: number, client: number, master: number): void {
    for (const sent of this.#on(client, master).values()) if (sent.lost < 0) sent.lost = at;
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

  #on(client: number, master: number): Map<unknown, Sent> {
    const name = `${client} ${master}`;
    const known = this.#underWay.get(name) ?? new Map<unknown, Sent>();
    this.#underWay.set(name, known);
    return known;
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
