// In place of Node's modules in the lab, where no lock is traced or nested, and no Redlock has the name of a host.

const silent = { hasSubscribers: false, publish: () => {} };

export const channel = (): typeof silent => silent;

export const tracingChannel = (): object => ({ ...silent, start: silent, end: silent, error: silent });

export const hostname = (): string => "";

export class AsyncLocalStorage {
  readonly run = <Result>(_: unknown, act: () => Result): Result => act();
  readonly getStore = (): undefined => undefined;
}

// Of `util` fake timers use a part only where it exists.
export default {};
