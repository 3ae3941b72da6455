/** A promise, and the function that resolves it. (Node 20 has no `Promise.withResolvers`.) */
export function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
