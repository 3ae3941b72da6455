/** The functions of a test framework that the suite uses. Vitest's module and Jest's globals have them. */
export interface Framework {
  describe(name: string, cases: () => void): unknown;
  it(name: string, run: () => Promise<void> | void): unknown;
  beforeAll(run: () => Promise<void>): unknown;
  beforeEach(run: () => Promise<void>): unknown;
  afterEach(run: () => Promise<void>): unknown;
  afterAll(run: () => Promise<void>): unknown;
  readonly expect: Expect;
}

interface Expect {
  (actual: unknown): Matchers;
  any(type: unknown): unknown;
}

interface Matchers {
  readonly not: Matchers;
  toBe(expected: unknown): void;
  toBeNull(): void;
  toBeUndefined(): void;
  toBeGreaterThan(least: number): void;
  toBeGreaterThanOrEqual(least: number): void;
  toBeLessThanOrEqual(most: number): void;
  toEqual(expected: unknown): void;
  toMatchObject(expected: object): void;
}

let used: Framework | undefined;

/** From now on the cases are those of `framework`. Default: the globals of this process. */
export function useFramework(framework: Framework | undefined): void {
  used = framework;
}

function framework(): Framework {
  const found = used ?? (globalThis as unknown as Framework);
  if (typeof found.describe === "function" && typeof found.expect === "function") return found;
  throw new Error(
    "there is no describe, it and expect: pass framework, such as that of import * as vitest from 'vitest'",
  );
}

export const describe: Framework["describe"] = (name, cases) => framework().describe(name, cases);
export const it: Framework["it"] = (name, run) => framework().it(name, run);
export const beforeAll: Framework["beforeAll"] = (run) => framework().beforeAll(run);
export const beforeEach: Framework["beforeEach"] = (run) => framework().beforeEach(run);
export const afterEach: Framework["afterEach"] = (run) => framework().afterEach(run);
export const afterAll: Framework["afterAll"] = (run) => framework().afterAll(run);
export const expect: Expect = Object.assign((actual: unknown) => framework().expect(actual), {
  any: (type: unknown) => framework().expect.any(type),
});
