import type { Master, Proxy as TcpProxy } from "@quorlock/testbed";
import { nodeTimeout } from "./terms.ts";

/** The path of a client's requests to one master. */
export interface Target {
  readonly proxy: TcpProxy;
  readonly master: Master;
}

/** One fault, injected at one master: what is done before a call, or happens in the middle of it. */
export interface InjectedFault {
  readonly name: string;
  /** Called when the call is about to be made; settles when it has happened, which may be in the middle of it. */
  inject(target: Target): Promise<void> | void;
  /** Resolves when all is well at the master and on the path to it. */
  heal(target: Target): Promise<void>;
  /** A master that answers late, but in time. */
  readonly isHarmless?: boolean;
  /** Too late for a vote, but what comes late still counts for a lease that stands. */
  readonly isLate?: boolean;
  /** It is over soon: who asks again gets an answer. */
  readonly isShort?: boolean;
}

const healProxy = ({ proxy }: Target): Promise<void> => proxy.heal();

/** Everything that can happen on the path; the masters are well, so many cases can have them at the same time. */
export const pathFaults: readonly InjectedFault[] = [
  { name: "requests lost", inject: ({ proxy }) => proxy.dropRequests(), heal: healProxy },
  { name: "replies lost after the write", inject: ({ proxy }) => proxy.dropReplies(), heal: healProxy },
  {
    name: "reply lost after the write, connection reset",
    inject: ({ proxy }) => proxy.resetAfterRequest(),
    heal: healProxy,
    isShort: true,
  },
  { name: "requests held, and late", inject: ({ proxy }) => proxy.hold("requests"), heal: healProxy },
  { name: "replies held, and late", inject: ({ proxy }) => proxy.hold("replies"), heal: healProxy },
  {
    name: "reset in the middle",
    inject: (target) => onRequest(target, () => target.proxy.reset()),
    heal: healProxy,
    isShort: true,
  },
  {
    name: "slower than a node may be",
    inject: ({ proxy }) => proxy.delay(1.5 * nodeTimeout, "replies"),
    heal: healProxy,
    isLate: true,
  },
  {
    name: "slow, but in time",
    inject: ({ proxy }) => proxy.delay(nodeTimeout / 20),
    heal: healProxy,
    isHarmless: true,
  },
];

/** Faults of a master itself, while a request is on its way to it. */
export const masterFaults: readonly InjectedFault[] = [
  {
    name: "hung when the request is there",
    inject: (target) => onRequest(target, () => target.master.hang()),
    heal: async (target) => {
      await target.master.resume();
      await target.proxy.heal();
    },
  },
  {
    name: "killed when the request is there",
    inject: (target) => onRequest(target, () => target.master.kill()),
    heal: async (target) => {
      await target.master.restart();
      await target.proxy.heal();
    },
  },
  {
    name: "killed and restarted when the request is there",
    inject: (target) => onRequest(target, () => target.master.restart()),
    heal: healProxy,
    isShort: true,
  },
];

/** Keeps the next request before the master, does what is to be done, and lets it go on. */
async function onRequest({ proxy }: Target, act: () => Promise<void> | void): Promise<void> {
  proxy.hold("requests");
  await proxy.when(({ requests }) => requests.held > 0);
  await act();
  proxy.release("requests");
}
