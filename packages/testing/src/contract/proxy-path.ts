import type { Path } from "./driver.ts";

interface Traffic {
  readonly requests: { readonly held: number };
  readonly replies: { readonly held: number };
}

/** A TCP proxy that can hold back, deliver and cut messages. */
export interface ProxyOfMaster {
  hold(direction: "requests" | "replies"): void;
  /** Delivers the held messages, and all later ones. */
  release(direction: "requests" | "replies"): void;
  /** Resolves when the condition holds. */
  when(condition: (traffic: Traffic) => boolean): Promise<void>;
  /** Resets all connections, and drops the held messages. */
  reset(): void;
  /** Refuses new connections once it has resolved. */
  refuse(): Promise<void>;
  /** Ends every fault. */
  heal(): Promise<void>;
  readonly counters: { readonly connections: number };
}

/** The way through a proxy. */
export function pathThrough(proxy: ProxyOfMaster): Path {
  return {
    hold: () => proxy.hold("requests"),
    held: () => proxy.when(({ requests }) => requests.held > 0),
    deliver: () => proxy.release("requests"),
    holdReplies: () => proxy.hold("replies"),
    heldReplies: () => proxy.when(({ replies }) => replies.held > 0),
    deliverReplies: () => proxy.release("replies"),
    reset: () => proxy.reset(),
    async cut() {
      await proxy.refuse();
      proxy.reset();
    },
    heal: () => proxy.heal(),
    get connections() {
      return proxy.counters.connections;
    },
  };
}
