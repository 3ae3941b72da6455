// redlock 5 ships types, but its package.json does not export them. This file declares the part in use.
declare module "redlock" {
  import type { Redis } from "ioredis";

  export interface Lock {
    release(): Promise<unknown>;
  }

  export default class Redlock {
    constructor(clients: Iterable<Redis>, settings?: Readonly<Record<string, number>>);
    acquire(resources: string[], duration: number): Promise<Lock>;
  }
}
