import cluster from "node:cluster";
import { type Counted, type CountingTask, count } from "./counting.ts";

// A cluster: the primary forks as many workers as it is told to and says what each has told it.
const [workers = "", task = ""] = process.argv.slice(2);

if (cluster.isPrimary) {
  const told: Counted[] = [];
  for (let index = 0; index < Number(workers); index += 1) {
    cluster.fork().on("message", (message: Counted) => told.push(message));
  }
  cluster.on("exit", (_worker, code) => {
    if (code !== 0) process.exitCode = 1;
    if (Object.keys(cluster.workers ?? {}).length === 0) process.stdout.write(JSON.stringify(told));
  });
} else {
  process.send?.(await count(JSON.parse(task) as CountingTask));
  process.disconnect();
}
