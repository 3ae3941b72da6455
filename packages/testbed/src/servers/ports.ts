import { connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

// Below the ports that Linux (32768 up) and macOS (49152 up) give to outgoing connections, for two reasons.
// A client that retries against a killed master must not be given the master's port as its own source port:
// TCP then connects to itself, the port looks alive and the restart fails. And with `--cluster-enabled` the
// bus port is 10000 higher, so ports and bus ports must be two ranges.
const lowest = 12_000;
const span = 10_000;
const attempts = 100;

/** Calls `use` with one random free loopback port after another until it does not fail with `PortTakenError`. */
export async function withFreePort<T>(use: (port: number) => Promise<T>): Promise<T> {
  let last: unknown;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = lowest + Math.floor(Math.random() * span);
    if (!(await isFree(port))) continue;
    try {
      return await use(port);
    } catch (error) {
      if (!(error instanceof PortTakenError)) throw error;
      last = error;
    }
  }
  throw new Error(`no free port in ${lowest}..${lowest + span - 1} after ${attempts} attempts`, {
    cause: last,
  });
}

/** Another process took the port after it was found free. */
export class PortTakenError extends Error {
  override readonly name = "PortTakenError";
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** Resolves when a connection to host:port is refused. */
export async function untilRefused(host: string, port: number, timeoutMilliseconds = 10_000): Promise<void> {
  const deadline = performance.now() + timeoutMilliseconds;
  while (!(await refuses(host, port))) {
    if (performance.now() > deadline) {
      throw new Error(`${host}:${port} still accepts connections after ${timeoutMilliseconds} ms`);
    }
    await pause(2);
  }
}

function refuses(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
}
