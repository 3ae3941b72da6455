import { fileURLToPath } from "node:url";
import ts from "@typescript/typescript6";
import { beforeAll, describe, expect, test } from "vitest";
import { everyMutant } from "./every-mutant.ts";
import type { Mutant } from "./mutant.ts";
import { editedFiles } from "./mutated-client.ts";

// A mutant that throws for want of a name is found as well, and shows nothing.

const client = fileURLToPath(new URL("../../../redlock/", import.meta.url));

/** Of TypeScript: a name, a property or an argument that is missing, or an argument of another type. */
const missing = [2304, 2339, 2345, 2551, 2552, 2554, 2555];

/** Compiles the client again and again, each time with other texts in place of some files. */
class Compiler {
  readonly #service: ts.LanguageService;
  #texts: ReadonlyMap<string, string> = new Map();
  #version = 0;

  constructor() {
    const { sys } = ts;
    const { config } = ts.readConfigFile(`${client}tsconfig.json`, (file) => sys.readFile(file));
    const { options, fileNames } = ts.parseJsonConfigFileContent(config, sys, client);
    this.#service = ts.createLanguageService({
      fileExists: (file) => sys.fileExists(file),
      readFile: (file) => sys.readFile(file),
      directoryExists: (folder) => sys.directoryExists(folder),
      // Constant conditions end some narrowings, and a value that may be undefined stays so.
      getCompilationSettings: () => ({ ...options, noEmit: true, strictNullChecks: false }),
      getScriptFileNames: () => fileNames,
      getScriptVersion: (file) => String(this.#texts.has(file) ? this.#version : 0),
      getScriptSnapshot: (file) => {
        const text = this.#texts.get(file) ?? sys.readFile(file);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => client,
      getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
    });
  }

  async missingIn(mutant: Mutant): Promise<readonly string[]> {
    this.#texts = await editedFiles(mutant);
    this.#version += 1;
    return [...this.#texts.keys()]
      .flatMap((file) => this.#service.getSemanticDiagnostics(file))
      .filter(({ code }) => missing.includes(code))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
  }
}

describe("a mutant of the client's source", () => {
  let compiler: Compiler;
  beforeAll(() => {
    compiler = new Compiler();
  });

  test.each(everyMutant.filter(({ edits }) => edits))("uses what is there: $name", async (mutant) => {
    expect(await compiler.missingIn(mutant)).toEqual([]);
  });

  test("gets the name that does not exist", async () => {
    const edits = { "protocol/quorum.ts quorumOf value": "Math.ceil(masters / 2)" };
    expect(await compiler.missingIn({ name: "a fault", breaks: [], edits })).toEqual([
      "Cannot find name 'masters'.",
    ]);
  });
});
