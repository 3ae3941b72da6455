import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { Controller, Get, type INestApplication, Inject, Injectable, Module, Param } from "@nestjs/common";
import { APP_FILTER, ExternalContextCreator } from "@nestjs/core";
import { ClientProxyFactory, MessagePattern, Transport } from "@nestjs/microservices";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { Cron, ScheduleModule, SchedulerRegistry } from "@nestjs/schedule";
import { TerminusModule } from "@nestjs/terminus";
import { Test } from "@nestjs/testing";
import {
  ClosedError,
  ExecutionError,
  InvalidArgumentError,
  LockLostError,
  Redlock,
  ResourceLockedError,
} from "@quorlock/redlock";
import { type Masters, startMasters } from "@quorlock/testbed";
import { fakeRedlock } from "@quorlock/testing";
import { Redis } from "ioredis";
import { firstValueFrom } from "rxjs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { heldLock, InjectRedlock, Locked, LockedFilter, Once, RedlockModule, redlockToken } from "./index.ts";
import { RedlockHealthIndicator } from "./terminus.ts";

const ttl = 60_000;
let masters: Masters;
let redlock: Redlock;
let other: Redlock;
let counter = 0;
let key: string;

const redlockOn = (urls: readonly string[]): Redlock =>
  new Redlock(
    urls.map((url) => new Redis(url).on("error", () => {})),
    { nodeTimeout: 900 },
  );

beforeAll(async () => {
  masters = await startMasters(3, { say: () => {} });
});
afterAll(() => masters.stop());
beforeEach(async () => {
  counter += 1;
  key = `nestjs:${counter}`;
  [redlock, other] = [redlockOn(masters.urls), redlockOn(masters.urls)];
  await Promise.all([redlock.ready(), other.ready()]);
});
afterEach(async () => {
  await Promise.all([redlock.quit(), other.quit()]);
});

/** A mark on a method, as other decorators leave it. */
function Marked(name: string): MethodDecorator {
  return (_target, _property, descriptor) => Reflect.defineMetadata(name, true, descriptor.value as object);
}

@Injectable()
class Payments {
  @InjectRedlock() readonly redlock!: Redlock;
  ran = 0;
  /** A call as a test records it. */
  act: (id: string) => Promise<unknown> = async (id) => id;

  @Marked("above")
  @Locked((id: string) => `${key}:${id}`, ttl)
  @Marked("below")
  async pay(id: string): Promise<unknown> {
    return this.act(id);
  }

  @Locked(() => key, ttl, { waitTimeout: ttl })
  async payInTurn(): Promise<unknown> {
    return this.act("");
  }

  @Once(() => key, { keepFor: ttl })
  async report(): Promise<number> {
    this.ran += 1;
    return this.ran;
  }
}

describe("RedlockModule", () => {
  test("provides the Redlock by its class and by its name, to a module that imports it or, if it is global, to all", async () => {
    @Injectable()
    class Service {
      @Inject(Redlock) readonly own!: Redlock;
      @InjectRedlock("stock") readonly stock!: Redlock;
    }
    @Module({ imports: [RedlockModule.forRoot({ redlock: other, name: "stock" })], providers: [Service] })
    class Feature {}
    const app = await Test.createTestingModule({
      imports: [RedlockModule.forRootAsync({ isGlobal: true, useFactory: () => ({ redlock }) }), Feature],
    }).compile();
    const service = app.get(Service);
    expect(service.own).toBe(redlock);
    expect(service.stock).toBe(other);
    await app.close();
  });

  test("is not seen by a module that does not import it", async () => {
    @Module({ providers: [Payments] })
    class Feature {}
    const made = RedlockModule.forRoot({ redlock, quit: false });
    const compiling = Test.createTestingModule({ imports: [made, Feature] }).compile();
    await expect(compiling).rejects.toThrow("can't resolve dependencies of the Payments");
  });

  test("lets the application start once a quorum answers, and not without one", async () => {
    const unreachable = new Redlock(
      [1, 2, 3].map((port) => new Redis({ port, lazyConnect: true }).on("error", () => {})),
    );
    const made = RedlockModule.forRoot({ redlock: unreachable, ready: { timeout: 100 } });
    const compiling = Test.createTestingModule({ imports: [made] }).compile();
    await expect(compiling).rejects.toBeInstanceOf(ExecutionError);
    const eager = RedlockModule.forRoot({ redlock: unreachable, ready: false });
    await (await Test.createTestingModule({ imports: [eager] }).compile()).close();
    await expect(unreachable.ready()).rejects.toBeInstanceOf(ClosedError);
  });

  test("quits the Redlock that it has made where the application does not start", async () => {
    const clients = [1, 2, 3].map((port) => new Redis({ port, lazyConnect: true }).on("error", () => {}));
    const made = RedlockModule.forRoot({ redlock: () => new Redlock(clients), ready: { timeout: 100 } });
    const compiling = Test.createTestingModule({ imports: [made] }).compile();
    await expect(compiling).rejects.toBeInstanceOf(ExecutionError);
    expect(clients.map(({ status }) => status)).toEqual(["end", "end", "end"]);
  });

  test("quits the Redlock when the application shuts down, after the methods that have a lock", async () => {
    const app = await Test.createTestingModule({
      imports: [RedlockModule.forRoot({ redlock, quit: { drain: ttl } })],
      providers: [Payments],
    }).compile();
    await app.init();
    const payments = app.get(Payments);
    let end!: () => void;
    let signal!: AbortSignal;
    const began = new Promise<void>((resolve) => {
      payments.act = () => {
        signal = heldLock()!.signal;
        resolve();
        return new Promise<void>((settle) => {
          end = settle;
        });
      };
    });
    const paid = payments.pay("7");
    await began;
    const closed = app.close();
    // Others cannot have it yet.
    expect(await other.tryAcquire(`${key}:7`, ttl)).toBeNull();
    expect(signal.aborted).toBe(false);
    end();
    await Promise.all([paid, closed]);
    await expect(redlock.acquire(key, ttl)).rejects.toBeInstanceOf(ClosedError);
  });

  test("leaves the Redlock open if asked for", async () => {
    const app = await Test.createTestingModule({
      imports: [RedlockModule.forRoot({ redlock, quit: false })],
    }).compile();
    await app.close();
    await (await redlock.acquire(key, ttl)).release();
  });

  test("makes no Redlock where a test provides a fake", async () => {
    const made: string[] = [];
    const fake = fakeRedlock();
    const app = await Test.createTestingModule({
      imports: [
        RedlockModule.forRoot({
          redlock: () => {
            made.push("real");
            return redlock;
          },
        }),
      ],
      providers: [Payments],
    })
      .overrideProvider(Redlock)
      .useValue(fake)
      .compile();
    expect(await app.get(Payments).pay("7")).toBe("7");
    expect(app.get(Payments).redlock).toBe(fake);
    expect(made).toEqual([]);
    await app.close();
  });
});

describe("a method with @Locked", () => {
  let app: INestApplication | undefined;
  let payments: Payments;

  beforeEach(async () => {
    const module = await Test.createTestingModule({
      imports: [RedlockModule.forRoot({ redlock })],
      providers: [Payments],
    }).compile();
    app = module.createNestApplication(new ExpressAdapter());
    await app.init();
    payments = app.get(Payments);
  });
  afterEach(() => app!.close());

  test("holds the lock of its arguments until its promise has settled", async () => {
    payments.act = async (id) => {
      const { lock, signal } = heldLock()!;
      return [lock.resources, signal.aborted, await other.tryAcquire(`${key}:${id}`, ttl)];
    };
    expect(await payments.pay("7")).toEqual([[`${key}:7`], false, null]);
    expect(heldLock()).toBeUndefined();
    await (await other.acquire(`${key}:7`, ttl)).release();
    payments.act = () => Promise.reject(new Error("no such table"));
    await expect(payments.pay("7")).rejects.toThrow("no such table");
    await (await other.acquire(`${key}:7`, ttl)).release();
  });

  test("rejects at once without the lock, and waits if it is told to", async () => {
    const locks = await Promise.all([other.acquire(`${key}:7`, ttl), other.acquire(key, ttl)]);
    await expect(payments.pay("7")).rejects.toBeInstanceOf(ResourceLockedError);
    const paid = payments.payInTurn();
    await Promise.all(locks.map((lock) => lock.release()));
    expect(await paid).toBe("");
  });

  test("rejects if its lock is lost, whatever it returns", async () => {
    payments.act = async () => {
      heldLock()!.lock.expiration = 0;
      return "paid";
    };
    await expect(payments.pay("7")).rejects.toBeInstanceOf(LockLostError);
  });

  test("says so if Nest has not made its instance", async () => {
    await expect(new Payments().pay("7")).rejects.toThrow(
      /^Payments has no Redlock: Nest has to make it, where RedlockModule is imported or global/,
    );
    expect(() => Locked("r", ttl)(Payments.prototype, "ran", {})).toThrow(InvalidArgumentError);
  });
});

describe("a method with @Once", () => {
  @Injectable()
  class Jobs {
    ran: string[] = [];

    @Cron("0 0 1 1 *", { name: "above", waitForCompletion: true })
    @Once(() => `${key}:above`, { keepFor: ttl })
    async above(): Promise<void> {
      this.ran.push(`above ${heldLock()?.signal.aborted}`);
    }

    @Once(() => `${key}:below`, { keepFor: ttl, at: () => 0 })
    @Cron("0 0 1 1 *", { name: "below", waitForCompletion: true })
    async below(): Promise<void> {
      this.ran.push(`below ${heldLock()?.lock.resources.join()}`);
    }
  }

  test("runs in one of two instances, and is undefined in the other", async () => {
    const apps = await Promise.all(
      [redlock, other].map((one) =>
        Test.createTestingModule({
          imports: [RedlockModule.forRoot({ redlock: one })],
          providers: [Payments],
        }).compile(),
      ),
    );
    const results = await Promise.all(apps.map((app) => app.get(Payments).report()));
    expect(new Set(results)).toEqual(new Set([1, undefined]));
    await Promise.all(apps.map((app) => app.close()));
  });

  test("is a job of @nestjs/schedule, with @Cron above or below", async () => {
    const app = await Test.createTestingModule({
      imports: [RedlockModule.forRoot({ redlock }), ScheduleModule.forRoot()],
      providers: [Jobs],
    }).compile();
    await app.init();
    const jobs = app.get(SchedulerRegistry).getCronJobs();
    expect([...jobs.keys()].sort()).toEqual(["above", "below"]);
    for (const name of ["above", "below"]) {
      await jobs.get(name)!.fireOnTick();
      await jobs.get(name)!.fireOnTick();
    }
    expect(app.get(Jobs).ran).toEqual(["above false", `below ${key}:below:1970-01-01T00:00:00.000Z`]);
    await app.close();
  });
});

describe.each([
  ["Express", () => new ExpressAdapter()],
  ["Fastify", () => new FastifyAdapter()],
])("LockedFilter on %s", (_, adapter) => {
  @Controller()
  class PaymentsController {
    @Inject(Payments) private readonly payments!: Payments;

    @Locked((id: string) => `${key}:${id}`, ttl)
    @Get(":id")
    pay(@Param("id") id: string): Promise<unknown> {
      return this.payments.act(id);
    }
  }

  async function started(): Promise<{ app: INestApplication; url: string }> {
    const module = await Test.createTestingModule({
      imports: [RedlockModule.forRoot({ redlock })],
      providers: [Payments, { provide: APP_FILTER, useClass: LockedFilter }],
      controllers: [PaymentsController],
    }).compile();
    const app = module.createNestApplication(adapter(), { logger: false });
    const server = await app.listen(0, "127.0.0.1");
    if (!server.listening) await once(server, "listening");
    return { app, url: await app.getUrl() };
  }

  test("answers 409 with Retry-After while another holds the lock, and nothing about it", async () => {
    const { app, url } = await started();
    expect(await (await fetch(`${url}/7`)).text()).toBe("7");
    const lock = await other.acquire(`${key}:7`, 20_500);
    const response = await fetch(`${url}/7`);
    expect(response.status).toBe(409);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const { headers } = await fetch(`${url}/7`, { method: "HEAD" });
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(
      Math.ceil(lock.remaining() / 1000),
    );
    expect(await response.json()).toEqual({
      type: "about:blank",
      title: "Conflict",
      status: 409,
      detail: "Another request holds the lock.",
    });
    await app.close();
  });

  test("answers 503 if the lock is lost, and leaves other errors to Nest", async () => {
    const { app, url } = await started();
    const payments = app.get(Payments);
    payments.act = async () => {
      heldLock()!.lock.expiration = 0;
    };
    expect((await fetch(`${url}/7`)).status).toBe(503);
    payments.act = () => Promise.reject(new InvalidArgumentError("a mistake"));
    expect((await fetch(`${url}/7`)).status).toBe(500);
    await app.close();
  });

  test("leaves the errors of calls that are not of HTTP to their callers", async () => {
    const { app } = await started();
    const resolver = { pay: () => other.acquire(`${key}:7`, ttl, { retryCount: 0 }) };
    const [contexts, none] = [app.get(ExternalContextCreator), undefined as never];
    const pay = contexts.create(resolver, resolver.pay, "pay", none, none, none, none, none, "graphql");
    const lock = await redlock.acquire(`${key}:7`, ttl);
    await expect(pay()).rejects.toBeInstanceOf(ResourceLockedError);
    await lock.release();
    await app.close();
  });
});

test("a call of a microservice without the lock is told from a defect, over TCP", async () => {
  @Controller()
  class PaymentsController {
    @Inject(Payments) private readonly payments!: Payments;

    @MessagePattern("pay")
    @Locked((id: string) => `${key}:${id}`, ttl)
    pay(id: string): Promise<unknown> {
      return this.payments.act(id);
    }
  }
  const module = await Test.createTestingModule({
    imports: [RedlockModule.forRoot({ redlock })],
    providers: [Payments, { provide: APP_FILTER, useClass: LockedFilter }],
    controllers: [PaymentsController],
  }).compile();
  const app = module.createNestMicroservice({
    transport: Transport.TCP,
    options: { host: "127.0.0.1", port: 0 },
    logger: false,
  });
  await app.listen();
  const { port } = app.unwrap<Server>().address() as AddressInfo;
  const client = ClientProxyFactory.create({
    transport: Transport.TCP,
    options: { host: "127.0.0.1", port },
  });
  const pay = async (): Promise<unknown> => firstValueFrom(client.send("pay", "7"));
  const payments = app.get(Payments);
  expect(await pay()).toBe("7");
  const lock = await other.acquire(`${key}:7`, 20_500);
  await expect(pay()).rejects.toEqual({
    status: "error",
    code: "RESOURCE_LOCKED",
    message: "Another request holds the lock.",
    retryAfter: expect.toSatisfy((seconds) => seconds >= Math.ceil(lock.remaining() / 1000)),
  });
  await lock.release();
  payments.act = async () => {
    heldLock()!.lock.expiration = 0;
  };
  await expect(pay()).rejects.toMatchObject({ status: "error", code: "LOCK_LOST", retryAfter: 1 });
  for (const error of [new InvalidArgumentError("a mistake"), new Error("a defect")]) {
    payments.act = () => Promise.reject(error);
    await expect(pay()).rejects.toEqual({ status: "error", message: "Internal server error" });
  }
  client.close();
  await app.close();
});

test("RedlockHealthIndicator is up while a quorum of masters answers, and names none when it is down", async () => {
  const few = await startMasters(3, { say: () => {} });
  const app = await Test.createTestingModule({
    imports: [
      RedlockModule.forRoot({ redlock: redlockOn(few.urls), name: "few", isGlobal: true }),
      TerminusModule,
    ],
    providers: [RedlockHealthIndicator],
  }).compile();
  const indicator = app.get(RedlockHealthIndicator);
  expect(await indicator.isHealthy("locks", { redlock: "few" })).toEqual({ locks: { status: "up" } });
  await Promise.all(few.list.slice(1).map((master) => master.kill()));
  expect(await indicator.isHealthy("locks", { redlock: "few", timeout: 200 })).toEqual({
    locks: { status: "down", message: "no quorum of masters answers" },
  });
  expect(redlockToken("few")).not.toBe(redlockToken());
  await app.close();
  await few.stop();
});
