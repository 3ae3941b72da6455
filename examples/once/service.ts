import { Child, withMessages } from "@quorlock/simulation/processes";
import { faketimeLibrary, type Masters } from "@quorlock/testbed";
import type { Fixture } from "../fixture/fixture.ts";
import type { Report } from "./instance.ts";

const script = new URL("instance.ts", import.meta.url);
/** The time that an instance has to start on a busy machine, ms. */
const timeToStart = 60_000;
const timeToBeIdle = 10_000;

/** The runs of each tick by each scheduler. */
export class Tally {
  readonly #runs = new Map<string, string[]>();

  add(scheduler: string, at: string, instance: string): void {
    const tick = `${scheduler} ${at}`;
    this.#runs.set(tick, [...(this.#runs.get(tick) ?? []), instance]);
  }

  /** The instances that ran the job of this tick. */
  of(scheduler: string, at: number): readonly string[] {
    return this.#runs.get(`${scheduler} ${new Date(at).toISOString()}`) ?? [];
  }
}

/** Instances of one service, each a process with a wall clock of its own. */
export class Service {
  readonly tally: Tally = new Tally();
  readonly #arguments: readonly string[];
  readonly #environment: Readonly<Record<string, string>>;
  readonly #instances = new Map<string, Child<Report>>();

  /** @throws if no library can be had that sets the clock of a process. */
  static async prepare(fixture: Fixture, schedulers: readonly string[], { urls }: Masters): Promise<Service> {
    const library = await faketimeLibrary((line) => fixture.narrator.line(line));
    if ("unavailable" in library) throw new Error(`clocks cannot be set: ${library.unavailable}`);
    const service = new Service([schedulers.join(","), ...urls], {
      LD_PRELOAD: library.faketime,
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    });
    fixture.onEnd(() => Promise.all([...service.#instances.values()].map((instance) => instance.kill())));
    return service;
  }

  private constructor(given: readonly string[], environment: Readonly<Record<string, string>>) {
    this.#arguments = given;
    this.#environment = environment;
  }

  /** Resolves to how far its clock is ahead of this process's, ms, when its schedulers have started. */
  async start(name: string, ahead: number): Promise<number> {
    const env = { ...this.#environment, FAKETIME: `+${ahead / 1000}s` };
    const instance = Child.node<Report>(script, this.#arguments, { env, stdio: withMessages });
    instance.process.on("message", (report: Report) => {
      if (report.kind === "runs") this.tally.add(report.scheduler, report.at, name);
    });
    this.#instances.set(name, instance);
    const { clock } = await instance.message("started", timeToStart);
    return clock - Date.now();
  }

  /** Kills it between two ticks. */
  async kill(name: string): Promise<void> {
    const instance = this.#instances.get(name)!;
    instance.send({});
    await instance.message("idle", timeToBeIdle);
    await instance.kill();
  }
}
