export type { WriteRefusal } from "../master/write-refusal.ts";
export { EmbeddedMaster, type EmbeddedMasterOptions } from "./embedded-master.ts";
export { type EmbeddedMasters, startEmbeddedMasters } from "./start-embedded-masters.ts";
