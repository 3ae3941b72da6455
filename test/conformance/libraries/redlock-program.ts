/** Locks and releases by the API of redlock 5, which is ours as well. */
export function redlockProgram(urls: readonly string[], resource: string): string {
  return `const Redlock = loaded.default;
const redlock = new Redlock(${JSON.stringify(urls)}.map((url) => new Redis(url)));
redlock
  .acquire([${JSON.stringify(resource)}], 5000)
  .then((lock) => lock.release())
  .then(() => redlock.quit())
  .then(() => console.log("locked and released"));
`;
}
