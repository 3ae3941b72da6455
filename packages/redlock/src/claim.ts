import type { Lease } from "./lease.ts";
import type { Claim } from "./node.ts";

/** A claim that is given up by hand, or with the lease that it is for. */
export class RoundClaim implements Claim {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttl: number;
  /** The hold that the claim has won, or is to extend. */
  lease: Lease | undefined;
  #givenUp = false;

  constructor(resources: readonly string[], token: string, ttl: number, lease?: Lease) {
    this.resources = resources;
    this.token = token;
    this.ttl = ttl;
    this.lease = lease;
  }

  get abandoned(): boolean {
    return this.#givenUp || this.lease?.hasEnded === true;
  }

  giveUp(): void {
    this.#givenUp = true;
  }
}
