import type { Connection, Redlock, Runtime } from "@quorlock/redlock";
import * as RedlockModule from "@quorlock/redlock";
import type { LockSettings } from "../plan/plan.ts";

/** What is put to the test: the client as it is, or something in its place. */
export interface Subject {
  readonly name: string;
  /** One client process. It gets all its time, randomness and network from these. */
  create(connections: readonly Connection[], runtime: Runtime, settings: LockSettings): Redlock;
}

/** A `Redlock` over these connections, by whichever copy of the client is given. */
export function clientOf(
  { Redlock, ScriptedNode }: Pick<typeof RedlockModule, "Redlock" | "ScriptedNode">,
  connections: readonly Connection[],
  runtime: Runtime,
  settings: LockSettings,
): Redlock {
  // The ttl is given with each lock; the rest is the constructor's.
  const { ttl: _, ...options } = settings;
  const nodes = connections.map((connection) => new ScriptedNode(connection));
  return new Redlock(nodes, { ...options, runtime });
}

/** The client as it is published. */
export const theClient: Subject = {
  name: "@quorlock/redlock",
  create: (connections, runtime, settings) => clientOf(RedlockModule, connections, runtime, settings),
};
