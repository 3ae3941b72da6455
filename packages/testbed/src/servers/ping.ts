import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** The reply of a server to PING. */
export interface Answer {
  /** The first line of the reply: `+PONG`, `-NOAUTH ...`, `-LOADING ...` */
  readonly line: string;
  /** The process id that the server reports; undefined where it wants a password first. */
  readonly processId: number | undefined;
}

/** Sends PING and asks for the process id; undefined when nothing answers within the time. */
export function askServer(
  host: string,
  port: number,
  timeoutMilliseconds: number,
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, host, () => socket.write("PING\r\nINFO server\r\n"));
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const end = received.indexOf("\r\n");
      const processId = /process_id:(\d+)\r\n/.exec(received)?.[1];
      resolve(
        end < 0
          ? undefined
          : { line: received.slice(0, end), processId: processId ? Number(processId) : undefined },
      );
    };
    const timer = setTimeout(finish, timeoutMilliseconds);
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      received += text;
      const lines = received.split("\r\n");
      const refused = lines.length > 2 && lines[1]?.startsWith("-");
      if (refused || /process_id:\d+\r\n/.test(received)) finish();
    });
    socket.on("error", finish);
    socket.on("end", finish);
  });
}

/**
 * Resolves with the answer when the server answers PING. A demand for a password is an answer, "loading the
 * dataset" is not. `stillWorthWaiting` may throw to end the wait early, e.g. when the process has died.
 */
export async function untilAnswers(
  host: string,
  port: number,
  timeoutMilliseconds: number,
  stillWorthWaiting: () => void = () => {},
): Promise<Answer> {
  const deadline = performance.now() + timeoutMilliseconds;
  let last = "nothing";
  while (true) {
    stillWorthWaiting();
    const left = deadline - performance.now();
    if (left <= 0) {
      throw new Error(`${host}:${port} did not answer PING within ${timeoutMilliseconds} ms; last: ${last}`);
    }
    const answer = await askServer(host, port, Math.min(left, 1000));
    if (answer?.line === "+PONG" || answer?.line.startsWith("-NOAUTH")) return answer;
    if (answer?.line.startsWith("-DENIED")) throw new Error(`${host}:${port} refuses: ${answer.line}`);
    if (answer) last = answer.line;
    await pause(5);
  }
}
