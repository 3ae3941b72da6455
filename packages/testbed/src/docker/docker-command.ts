import { execFile } from "node:child_process";

/** The output of a docker command, on both of its channels. Rejects with the command's own words. */
export function docker(
  words: readonly string[],
  options: { readonly timeout?: number; readonly signal?: AbortSignal } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile("docker", words, options, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr.trim() || error.message, { cause: error }));
      else resolve(stdout + stderr);
    });
  });
}
