import { basename, join } from "node:path";
import ts from "typescript-5.9";

// Compiles code that stands in a document, by its text.

export const strict: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  lib: ["lib.es2023.d.ts", "lib.es2024.string.d.ts", "lib.esnext.disposable.d.ts"],
  types: ["node"],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  // redlock 5 imports the types of ioredis 5 by its old name.
  esModuleInterop: true,
};
/** With the sources of the packages. */
export const fromSource: ts.CompilerOptions = {
  ...strict,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  customConditions: ["quorlock-source"],
  allowImportingTsExtensions: true,
};

/** Code that compiles with redlock 5 only, as its page says. */
export const linesOfRedlock5: readonly string[] = [
  `redlock.on("other", () => {});`,
  `new Redlock(redlock.clients, {}, { acquireScript: (script: string) => script });`,
].map((line) => {
  const declarations = "declare const redlock: Redlock;\ndeclare const lock: Lock;";
  return `import Redlock, { type Lock } from "redlock";\n${declarations}\n${line}`;
});

/** The compiler's errors for these modules, by name, in this folder. */
export function complaintsAbout(
  modules: Readonly<Record<string, string>>,
  options: ts.CompilerOptions,
): string[] {
  const texts = new Map(
    Object.entries(modules).map(([name, code]) => [join(import.meta.dirname, name), code]),
  );
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (name) => texts.has(name) || disk.fileExists(name),
    getSourceFile: (name, ...rest) => {
      const code = texts.get(name);
      if (code === undefined) return disk.getSourceFile(name, ...rest);
      return ts.createSourceFile(name, code, ts.ScriptTarget.ES2022);
    },
  };
  const found = ts.getPreEmitDiagnostics(ts.createProgram([...texts.keys()], options, host));
  return found.map(({ file, messageText }) => {
    const message = ts.flattenDiagnosticMessageText(messageText, "\n");
    return `${basename(file?.fileName ?? "")}: ${message}`;
  });
}
