import { Inject, Injectable } from "@nestjs/common";
import { ModuleRef } from "@nestjs/core";
import { type HealthIndicatorResult, HealthIndicatorService } from "@nestjs/terminus";
import type { Redlock } from "@quorlock/redlock";
import { redlockToken } from "./tokens.ts";

/**
 * A health indicator of `@nestjs/terminus`: up while a quorum of masters answers. Make it a provider of the module that
 * imports `TerminusModule`.
 * @example
 * ```ts
 * health.check([() => locks.isHealthy("locks", { timeout: 500 })]);
 * ```
 */
export class RedlockHealthIndicator {
  readonly #service: HealthIndicatorService;
  readonly #modules: ModuleRef;

  constructor(service: HealthIndicatorService, modules: ModuleRef) {
    this.#service = service;
    this.#modules = modules;
  }

  /** `redlock`: the name of the Redlock. `timeout`: the time that masters have to answer, ms; default 1,000. */
  async isHealthy<Key extends string>(
    key: Key,
    {
      redlock: name,
      timeout = 1_000,
    }: { readonly redlock?: string | undefined; readonly timeout?: number | undefined } = {},
  ): Promise<HealthIndicatorResult<Key>> {
    const redlock = this.#modules.get<Redlock>(redlockToken(name), { strict: false });
    const indicator = this.#service.check(key);
    try {
      await redlock.ready({ timeout });
      return indicator.up();
    } catch {
      // The error names the masters, and anybody may read a health check.
      return indicator.down({ message: "no quorum of masters answers" });
    }
  }
}

Injectable()(RedlockHealthIndicator);
Inject(HealthIndicatorService)(RedlockHealthIndicator, undefined, 0);
Inject(ModuleRef)(RedlockHealthIndicator, undefined, 1);
