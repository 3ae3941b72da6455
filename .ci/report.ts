import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

/** The part of vitest's report that is used here. */
export interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    /** Of a file whose hooks fail, or that cannot be loaded. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
      readonly location?: { readonly line: number };
    }[];
  }[];
}

/** A test that failed; or, with line 0, a file. */
export interface Failure {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  readonly messages: readonly string[];
}

/** `undefined` for a run that failed before its first test. */
export function reportIn(path: string): Report | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Report) : undefined;
}

export function failuresOf({ testResults }: Report): Failure[] {
  return testResults.flatMap(({ name, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter(({ status }) => status === "failed");
    const tests = failed.map(({ fullName, failureMessages: messages, location }): Failure => {
      return { file, line: location?.line ?? 0, name: fullName, messages };
    });
    return message === "" ? tests : [...tests, { file, line: 0, name: message, messages: [] }];
  });
}
