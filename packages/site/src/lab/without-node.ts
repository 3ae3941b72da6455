import { EventEmitter } from "events/events.js";

// The parts of Node that the client needs, for the lab, where no lock is traced or nested, and no Redlock has the name of a host.

const silent = { hasSubscribers: false, publish: () => {} };

const modules: Readonly<Record<string, object>> = {
  "node:events": { EventEmitter },
  "node:diagnostics_channel": {
    channel: () => silent,
    tracingChannel: () => ({ ...silent, start: silent, end: silent, error: silent }),
  },
};

Object.assign(globalThis, { process: { getBuiltinModule: (name: string) => modules[name] } });
