// redlock 5 has types that its package.json does not lead to. Here is what is used of them.
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
