import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Cron as NestCron, ScheduleModule } from "@nestjs/schedule";
import type { Redlock } from "@quorlock/redlock";
import { once, runCoordinator } from "@quorlock/redlock/once";
import { CronJob } from "cron";
import { Cron } from "croner";
import { schedule } from "node-cron";

// A job of every second, by each of four schedulers: in all processes that start it, one runs each tick.

const everySecond = "* * * * * *";
/** Far above the time by which an instance can be late, ms. */
const keepFor = 30_000;

/** The work, for the tick of this time. */
type Job = (at: Date) => Promise<void>;

/** The scheduled time, by the clock of this process: the start of its interval. */
function thisSecond(): Date {
  return new Date(Math.floor(Date.now() / 1000) * 1000);
}

function onceASecond(redlock: Redlock, name: string, job: Job): () => Promise<void> {
  return async () => {
    const at = thisSecond();
    await once(redlock, name, { at, keepFor }, () => job(at));
  };
}

export const schedulers: Readonly<Record<string, (redlock: Redlock, job: Job) => unknown>> = {
  // It has the scheduled time, and asks the coordinator itself.
  "node-cron": (redlock, job) =>
    schedule(everySecond, ({ date }) => job(date), {
      name: "node-cron",
      distributed: true,
      runCoordinator: runCoordinator(redlock),
    }),
  cron: (redlock, job) =>
    CronJob.from({ cronTime: everySecond, onTick: onceASecond(redlock, "cron", job), start: true }),
  croner: (redlock, job) => new Cron(everySecond, { catch: true }, onceASecond(redlock, "croner", job)),
  nest: (redlock, job) => {
    class Reports {
      run = onceASecond(redlock, "nest", job);
      tick(): Promise<void> {
        return this.run();
      }
    }
    // As decorators: `@Cron("* * * * * *")` above the method, `@Module(...)` above the class.
    const method = Object.getOwnPropertyDescriptor(Reports.prototype, "tick")!;
    NestCron(everySecond)(Reports.prototype, "tick", method);
    Module({ imports: [ScheduleModule.forRoot()] })(Reports);
    return NestFactory.createApplicationContext(Reports, { logger: false });
  },
};
