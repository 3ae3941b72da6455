export { type SimulateOptions, type SimulateResult, simulate } from "@quorlock/simulation";
export {
  type Cut,
  EmbeddedMaster,
  type EmbeddedMasterOptions,
  type EmbeddedMasters,
  MasterRoute,
  type MasterRoutes,
  startEmbeddedMasters,
  type WriteRefusal,
} from "@quorlock/simulation/embedded";
export { type FakeRedlockOptions, fakeRedlock } from "./fake-redlock.ts";
export { advance, timersToFake, timersToKeep } from "./fake-timers.ts";
export { type IoredisMock, mockMaster } from "./mock-master.ts";
