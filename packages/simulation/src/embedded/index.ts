export type { WriteRefusal } from "../master/write-refusal.ts";
export { EmbeddedMaster, type EmbeddedMasterOptions } from "./embedded-master.ts";
export { EmbeddedRedis, Snapshot } from "./embedded-redis.ts";
export { InProcessConnection } from "./in-process-connection.ts";
export { bytesRead, type Cut, MasterRoute } from "./master-route.ts";
export { type EmbeddedMasters, type MasterRoutes, startEmbeddedMasters } from "./start-embedded-masters.ts";
