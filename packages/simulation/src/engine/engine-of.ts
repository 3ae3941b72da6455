import type { Engine, EngineKind } from "./engine.ts";
import { FakeTimersEngine } from "./fake-timers-engine.ts";
import { HeapEngine } from "./heap-engine.ts";

export function engineOf(kind: EngineKind): Engine {
  return kind === "heap" ? new HeapEngine() : new FakeTimersEngine();
}
