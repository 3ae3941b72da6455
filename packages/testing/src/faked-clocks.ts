const known = ["Date", "performance", "setTimeout", "clearTimeout"] as const;

/** Those that a client reads; each with the mark of @sinonjs/fake-timers, or replaced by a function of a test. */
function isFaked(name: (typeof known)[number]): boolean {
  const value = globalThis[name];
  if ("clock" in value || "_isMockFunction" in value) return true;
  return name === "Date" && !/\[native code\]/.test(Function.prototype.toString.call(value));
}

/**
 * Locks expire by clocks and are kept by timers. With some of them faked, time passes for the one and stands still for
 * the other: calls would wait for ever, and locks would never expire.
 *
 * @throws Error that names what is faked and what is not, unless that is all of them or none.
 */
export function refusePartlyFaked(what: string): void {
  const faked = known.filter(isFaked);
  if (faked.length === 0 || faked.length === known.length) return;
  const real = known.filter((name) => !isFaked(name));
  throw new Error(
    `${what} needs all clocks and timers faked, or none, but ${listed(faked)} and ${listed(real)} not: ` +
      "vi.useFakeTimers({ toFake: timersToFake }) or jest.useFakeTimers({ doNotFake: timersToKeep })",
  );
}

function listed(names: readonly string[]): string {
  return `${names.join(", ")} ${names.length === 1 ? "is" : "are"}`;
}
