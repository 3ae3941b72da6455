type Listener = (error: unknown) => void;

interface Surroundings {
  readonly process?: {
    on?(event: string, listener: Listener): unknown;
    off?(event: string, listener: Listener): unknown;
  };
}

const events = ["unhandledRejection", "uncaughtException"];
const listeners = new Set<Listener>();

function tell(error: unknown): void {
  for (const listener of listeners) listener(error);
}

/**
 * Calls back for each error that nothing catches, until the returned function is called. Node reports a rejection only
 * once no tick is left, which in a simulation is when it breathes or has ended (see `Drain`). Several listeners
 * at a time hear the errors of all. In a browser there is nothing to hear.
 */
export function onUncaught(listener: Listener): () => void {
  const { process } = globalThis as unknown as Surroundings;
  if (listeners.size === 0) for (const event of events) process?.on?.(event, tell);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) for (const event of events) process?.off?.(event, tell);
  };
}
