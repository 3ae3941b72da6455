// The types of one version for all versions of a client library: node-redis has some hundred thousand, and to compare those of two
// versions takes the compiler longer than everything else. packages/redlock/src/index.test.ts compiles with the types of each version.

declare module "redis-5" {
  export * from "redis";
}

declare module "redis-5.0" {
  export * from "redis";
}

declare module "redis-6.0" {
  export * from "redis";
}

declare module "ioredis-4" {
  export { Cluster, Redis as default } from "ioredis";
}

declare module "ioredis-5" {
  export * from "ioredis";
}
