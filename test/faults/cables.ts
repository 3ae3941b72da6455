import type { Proxy as Line, Master } from "@quorlock/testbed";
import { nodeTimeout } from "./terms.ts";

/** The path of a client's requests to one master. */
export interface Target {
  readonly line: Line;
  readonly master: Master;
}

/** One cable, pulled at one master: what is done before a call, or by itself in the middle of it. */
export interface Cable {
  readonly name: string;
  /** Called when the call is about to be made; settles when it has happened, which may be in the middle of it. */
  pull(target: Target): Promise<void> | void;
  /** Resolves when all is well at the master and on the line to it. */
  heal(target: Target): Promise<void>;
  /** A master that answers late, but in time. */
  readonly isHarmless?: boolean;
  /** Too late for a vote, but what comes late still counts for a lease that stands. */
  readonly isLate?: boolean;
  /** It is over by itself: who asks again gets an answer. */
  readonly isShort?: boolean;
}

const healLine = ({ line }: Target): Promise<void> => line.heal();

/** Everything that can happen to a line; the masters are well, so many cases can have them at the same time. */
export const lineCables: readonly Cable[] = [
  { name: "requests lost", pull: ({ line }) => line.dropRequests(), heal: healLine },
  { name: "replies lost after the write", pull: ({ line }) => line.dropReplies(), heal: healLine },
  {
    name: "reply lost after the write, connection reset",
    pull: ({ line }) => line.resetAfterRequest(),
    heal: healLine,
    isShort: true,
  },
  { name: "requests held, and late", pull: ({ line }) => line.hold("requests"), heal: healLine },
  { name: "replies held, and late", pull: ({ line }) => line.hold("replies"), heal: healLine },
  {
    name: "reset in the middle",
    pull: (target) => onRequest(target, () => target.line.reset()),
    heal: healLine,
    isShort: true,
  },
  {
    name: "slower than a node may be",
    pull: ({ line }) => line.delay(1.5 * nodeTimeout, "replies"),
    heal: healLine,
    isLate: true,
  },
  {
    name: "slow, but in time",
    pull: ({ line }) => line.delay(nodeTimeout / 20),
    heal: healLine,
    isHarmless: true,
  },
];

/** Faults of a master itself, while a request is on its way to it. */
export const masterCables: readonly Cable[] = [
  {
    name: "hung when the request is there",
    pull: (target) => onRequest(target, () => target.master.hang()),
    heal: async (target) => {
      await target.master.resume();
      await target.line.heal();
    },
  },
  {
    name: "killed when the request is there",
    pull: (target) => onRequest(target, () => target.master.kill()),
    heal: async (target) => {
      await target.master.restart();
      await target.line.heal();
    },
  },
  {
    name: "killed and restarted when the request is there",
    pull: (target) => onRequest(target, () => target.master.restart()),
    heal: healLine,
    isShort: true,
  },
];

/** Keeps the next request before the master, does what is to be done, and lets it go on. */
async function onRequest({ line }: Target, act: () => Promise<void> | void): Promise<void> {
  line.hold("requests");
  await line.when(({ requests }) => requests.held > 0);
  await act();
  line.release("requests");
}
