import type { ClockEvent } from "@quorlock/redlock";
import { DefaultMap } from "../default-map.ts";
import type { Process } from "../engine/process.ts";
import type { Master } from "../master/master.ts";
import { tokenOf } from "../run/subject.ts";
import { Checker, type Judged, type RunEvent } from "./checker.ts";
import type { LockInterval } from "./lock-interval.ts";

/** The master's time, as a client has heard it. */
interface Heard {
  /** The sum of the clock's steps when it was read, ms. */
  readonly steppedBy: number;
  /** When the client asked, and when it heard of it; true time, us. */
  readonly sentAt: number;
  readonly at: number;
  /** When it heard of it by its own clocks, ms. */
  readonly monotonic: number;
  readonly wall: number;
}

/** The readings that one client has of one master. */
interface Watched {
  /** The last three, the latest first. */
  heard: readonly Heard[];
  /** With the one of this turn, which may overlap the one before it, and show its step too vaguely to be noticed. */
  withLatest: readonly Heard[];
  /** A step that the client must report in this very turn, ms. */
  owed: number | undefined;
  /** The readings at the client's last report. */
  told: Heard | undefined;
}

/** How fast any clock may be. */
const fastest = 1.06;
/** Readings of whole milliseconds, ms. */
const grains = 10;

/**
 * Compares the clients' reports of clock steps with the steps that really happened (PROTOCOL 11.1):
 *
 * - a step was reported, but there was none between two readings: a false alarm, whatever has happened to the client;
 * - a step far beyond the uncertainty of the readings was not reported with the first reading after it;
 * - a lock was granted after that by votes of masters that should have been excluded.
 */
export class ClockAlarms extends Checker {
  /** The time for which a client excludes a master that has stepped, ms by its monotonic clock; 0 without `exclude`. */
  readonly #exclusion: number;
  readonly #telling = new Set<Process>();
  readonly #watched = new DefaultMap<Process, DefaultMap<Master, Watched>>(
    () => new DefaultMap(() => ({ heard: [], withLatest: [], owed: undefined, told: undefined })),
  );

  constructor(run: Judged, exclusion: number) {
    super(run);
    this.#exclusion = exclusion;
  }

  /** Only clients that report steps are judged. */
  listensTo(client: Process): void {
    this.#telling.add(client);
  }

  see(event: RunEvent): void {
    if (event.is === "time heard") this.#heard(event.client, event.master, event.steppedBy, event.sentAt);
    else if (event.is === "clock told") this.#told(event.client, event.event);
    else if (event.is === "held") this.#granted(event.interval);
  }

  /** In a turn of `client`, before it looks at what the clock of `master` has shown. */
  #heard(client: Process, master: Master, steppedBy: number, sentAt: number): void {
    if (!this.#telling.has(client)) return;
    const watched = this.#watched.get(client).get(master);
    this.#judge(watched, client, master);
    const { now, clocks } = client;
    const [monotonic, wall] = [clocks.monotonicAt(now), clocks.wallAt(now)];
    const heard = [{ steppedBy, sentAt, at: now, monotonic, wall }, ...watched.heard.slice(0, 2)];
    watched.withLatest = heard;
    const step = stepIn(heard);
    if (Math.abs(step) > uncertaintyIn(heard)) watched.owed = step;
    // The history of a clock goes from one reading to the next; one that overlaps has a place in it if it shows a step.
    if (watched.owed !== undefined || sentAt >= (heard[1]?.at ?? 0)) watched.heard = heard;
  }

  /** No lock that is asked for once a master is left out counts its votes. */
  #granted({ process, lock, askedAt }: LockInterval): void {
    const counting = this.run.masters.filter((master) => !this.#isLeftOut(process, master, askedAt));
    if (counting.length === this.run.masters.length || lock.remaining() === 0) return;
    this.reached("granted without who stepped");
    const quorum = Math.floor(this.run.masters.length / 2) + 1;
    for (const resource of lock.resources) {
      // Masters that are down, or have stepped meanwhile, may have voted.
      const voters = counting.filter(
        (master) =>
          !master.isUp || master.peek(resource)?.value === tokenOf(lock) || master.steps.at >= askedAt,
      );
      if (voters.length >= quorum) continue;
      const text = `${process.name} was given "${resource}" by votes of a master whose clock had stepped`;
      this.violated("clock", text);
    }
  }

  /** Judges the reports that are due. */
  override end(): void {
    for (const [client, masters] of this.#watched)
      for (const [master, watched] of masters) this.#judge(watched, client, master);
  }

  /** In the turn in which `client` has heard of it. */
  #told(client: Process, { kind, node, offset, uncertainty }: ClockEvent): void {
    if (kind !== "stepped") return;
    const master = this.run.masters.find(({ name }) => name === node)!;
    const watched = this.#watched.get(client).get(master);
    watched.heard = watched.withLatest;
    const what = `${client.name} was told that ${node} has stepped by ${offset} ms`;
    const step = stepIn(watched.heard);
    if (step === 0) this.violated("clock", `${what}, and it has not`);
    else if (Math.sign(step) !== Math.sign(offset)) this.violated("clock", `${what}, not ${step}`);
    else if (watched.owed !== undefined && Math.abs(offset - step) > uncertainty + driftIn(watched.heard))
      this.violated("clock", `${what} (within ${uncertainty} ms), not ${step}`);
    watched.owed = undefined;
    watched.told = watched.heard[0];
    this.reached("step told");
  }

  #judge(watched: Watched, client: Process, master: Master): void {
    if (watched.owed === undefined) return;
    const text = `${client.name} was not told that ${master.name} has stepped by ${watched.owed} ms`;
    this.violated("clock", text);
    watched.owed = undefined;
  }

  #isLeftOut(client: Process, master: Master, askedAt: number): boolean {
    const told = this.#watched.get(client).get(master).told;
    if (!told || askedAt < told.at) return false;
    return client.clocks.monotonicAt(client.now) < told.monotonic + this.#exclusion;
  }
}

/** The sum of the clock's steps between the last two readings, ms. */
function stepIn([latest, before]: readonly Heard[]): number {
  return latest && before ? latest.steppedBy - before.steppedBy : 0;
}

/**
 * Upper bound on the error of the last two readings, ms. Infinite if the client's own clocks have jumped meanwhile: then it
 * cannot judge.
 */
function uncertaintyIn(heard: readonly Heard[]): number {
  const [latest, , first] = heard;
  if (!latest || !first) return Number.POSITIVE_INFINITY;
  const hasLeapt = Math.abs(latest.wall - latest.monotonic - (first.wall - first.monotonic)) > 1;
  return hasLeapt ? Number.POSITIVE_INFINITY : spanOf(heard) * fastest + grains;
}

/** The time in which the last two readings were made, ms: the later one was asked for no earlier. */
function spanOf([latest, before, first]: readonly Heard[]): number {
  return (latest!.at - Math.min(first!.at, before!.sentAt)) / 1000;
}

/** Drift that the clock rates may add to a step, ms. */
function driftIn(heard: readonly Heard[]): number {
  return spanOf(heard) * (fastest - 1) + grains;
}
