import {
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationShutdown,
} from "@nestjs/common";
import type { ReadyOptions, Redlock } from "@quorlock/redlock";
import { redlockToken } from "./tokens.ts";

export interface RedlockModuleOptions {
  /** The Redlock, or what makes it: that is not called if a test overrides the provider. */
  readonly redlock: Redlock | (() => Redlock | Promise<Redlock>);
  /**
   * The options of `redlock.ready`: the start of the application waits for a quorum of masters, and fails without one.
   * `false`: it does not wait. Default `{ timeout: 5_000 }`.
   */
  readonly ready?: ReadyOptions | false | undefined;
  /**
   * The options of `redlock.quit` when the application shuts down. `false`: the Redlock stays open. Default `{ drain: 10_000 }`:
   * methods under a lock have 10 s to end.
   */
  readonly quit?: { readonly drain?: number; readonly keepClients?: boolean } | false | undefined;
}

/** The part that is known when the module is declared, with `forRootAsync` as well. */
export interface RedlockModuleExtras {
  /** Whether other modules have the Redlock without an import of this one. Default false. */
  readonly isGlobal?: boolean | undefined;
  /** Tells several Redlocks apart. Default: none, for the one that is injected by its class. */
  readonly name?: string | undefined;
}

/** The Redlock of one module, under whatever name it has outside. */
const ownRedlock = Symbol("quorlock.redlock");

const extras: RedlockModuleExtras = { isGlobal: false, name: undefined };

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<RedlockModuleOptions>()
    .setClassMethodName("forRoot")
    .setExtras(extras, withRedlock)
    .build();

function withRedlock(definition: DynamicModule, { isGlobal, name }: RedlockModuleExtras): DynamicModule {
  const token = redlockToken(name);
  const providers = [
    { provide: token, inject: [MODULE_OPTIONS_TOKEN], useFactory: readyRedlock },
    { provide: ownRedlock, useExisting: token },
  ];
  return {
    ...definition,
    global: isGlobal ?? false,
    providers: [...(definition.providers ?? []), ...providers],
    exports: [...(definition.exports ?? []), token],
  };
}

async function readyRedlock({ redlock, ready }: RedlockModuleOptions): Promise<Redlock> {
  const isOwn = typeof redlock === "function";
  const made = isOwn ? await redlock() : redlock;
  try {
    if (ready !== false) await made.ready({ ...ready, timeout: ready?.timeout ?? 5_000 });
  } catch (error) {
    // Nobody else has it, and its clients would reconnect for ever.
    if (isOwn) await made.quit();
    throw error;
  }
  return made;
}

/**
 * Provides a Redlock, and quits it when the application shuts down.
 * @example
 * ```ts
 * RedlockModule.forRootAsync({
 *   isGlobal: true,
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({ redlock: () => new Redlock(clientsOf(config)) }),
 * });
 * ```
 */
export class RedlockModule extends ConfigurableModuleClass implements OnApplicationShutdown {
  readonly #redlock: Redlock;
  readonly #options: RedlockModuleOptions;

  constructor(redlock: Redlock, options: RedlockModuleOptions) {
    super();
    this.#redlock = redlock;
    this.#options = options;
  }

  async onApplicationShutdown(): Promise<void> {
    const { quit = { drain: 10_000 } } = this.#options;
    if (quit !== false) await this.#redlock.quit(quit);
  }
}

// As functions, so that this package is built as all others are, without decorators.
Module({})(RedlockModule);
Inject(ownRedlock)(RedlockModule, undefined, 0);
Inject(MODULE_OPTIONS_TOKEN)(RedlockModule, undefined, 1);
