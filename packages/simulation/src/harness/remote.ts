import type { Kernel } from "../engine/kernel.ts";
import type { Process } from "../engine/process.ts";
import type { OneWay } from "../network/one-way.ts";

/** An object on another machine: each method is a message there and one back. */
export type Remote<Resource> = {
  readonly [Name in keyof Resource as Resource[Name] extends Method ? Name : never]: Resource[Name] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

// biome-ignore lint/suspicious/noExplicitAny: a method of the user's own, whatever its arguments.
type Method = (...args: any[]) => unknown;

/** The way to a remote object and back. */
export interface Way {
  readonly client: Process;
  readonly server: Process;
  readonly requests: OneWay;
  readonly replies: OneWay;
  /** The round of the caller's code: a call may be late in its own. */
  readonly round: number;
}

export interface RemoteListener {
  /** In the caller's turn, before the message is sent. Returns how long it takes to arrive, us. */
  onCall(): number;
  /** In a turn of the server: what a method has returned. */
  onResult(result: unknown): void;
  /** In a turn of the server: a method has run, or has thrown. */
  onEffect(): void;
  /** In the caller's turn: what came of it has arrived. */
  onReply(): void;
}

/**
 * `target` as its user sees it from another machine. A call is sent and takes its time to arrive; there it runs as a
 * whole, at once; and what it returned or threw comes back. Arguments and results are copied, as a wire does it.
 */
export function remote<Resource extends object>(
  kernel: Kernel,
  way: Way,
  target: Resource,
  listener: RemoteListener,
): Remote<Resource> {
  return new Proxy({} as Remote<Resource>, {
    get(_, name) {
      const method: unknown = Reflect.get(target, name);
      // A promise that resolves to this object asks it for `then`.
      if (typeof method !== "function") return undefined;
      return (...args: readonly unknown[]) => {
        let sent: readonly unknown[];
        try {
          // Later changes by the caller are not sent.
          sent = structuredClone(args);
        } catch (error) {
          return Promise.reject(error);
        }
        const words = [String(name), kernel.trace.isOn ? sent.map(textOf).join(", ") : ""];
        return call(kernel, way, listener, words, () => {
          const result: unknown = Reflect.apply(method, target, sent);
          listener.onResult(result);
          return result;
        });
      };
    },
  });
}

function call(
  kernel: Kernel,
  { client, server, requests, replies, round }: Way,
  listener: RemoteListener,
  words: readonly string[],
  run: () => unknown,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const latency = listener.onCall();
    const sentAt = client.now;
    client.record("calls", server.name, ...words);
    const arrive = (): void => {
      const { text, settle } = outcomeOf(kernel, run, resolve, reject);
      server.record("has done", ...words, "for", client.name, sentAt, round, text);
      listener.onEffect();
      replies.send(server.now, () =>
        client.deliver(() => {
          listener.onReply();
          settle();
        }),
      );
    };
    requests.send(sentAt, () => server.deliver(arrive), latency);
  });
}

function outcomeOf(
  { trace }: Kernel,
  run: () => unknown,
  resolve: (result: unknown) => void,
  reject: (error: unknown) => void,
): { readonly text: string; readonly settle: () => void } {
  try {
    const result = structuredClone(run());
    return { text: trace.isOn ? textOf(result) : "", settle: () => resolve(result) };
  } catch (error) {
    return { text: String(error), settle: () => reject(error) };
  }
}

/** No longer than a line of a story has room for. */
function textOf(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
