import { define, digests } from "virtual:redlock-5";
import { loading, redlock5Of, type Subject } from "@quorlock/simulation/lab";

// redlock 5 as the build has bundled it, with what it takes from Node.

type Listener = (...args: readonly unknown[]) => void;

class EventEmitter {
  /** No private field: what is made of an emitter by `Object.create` is one too, as in Node. */
  readonly listeners = new Map<string, Listener[]>();

  on(event: string, listener: Listener): this {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
    return this;
  }

  /** As in Node, an error that nobody listens for is thrown. */
  emit(event: string, ...args: readonly unknown[]): boolean {
    const listeners = this.listeners.get(event) ?? [];
    if (event === "error" && listeners.length === 0) throw args[0];
    for (const listener of listeners) listener(...args);
    return listeners.length > 0;
  }
}

/** Of the scripts that the package has. */
function createHash(): unknown {
  let text = "";
  const hash = {
    update(part: string) {
      text += part;
      return hash;
    },
    digest() {
      const digest = digests[text];
      if (digest === undefined) throw new Error("redlock 5 has a script that the build did not know");
      return digest;
    },
  };
  return hash;
}

export function redlock5(): Subject {
  return redlock5Of(
    loading(define, (runtime) => ({
      events: { EventEmitter },
      crypto: {
        createHash,
        randomBytes: (count: number) => ({
          toString: () =>
            Array.from(runtime.randomBytes(count), (byte) => byte.toString(16).padStart(2, "0")).join(""),
        }),
      },
    })),
  );
}
