// A service as teams with redlock 4 have it. To run on Quorlock it changes the import of the next line, and nothing else.
const Redlock = require("redlock");
const Bluebird = require("bluebird");
const http = require("node:http");
const { Redis } = require("ioredis");

const clients = process.env.MASTERS.split(",").map((url) => new Redis(url));
const redlock = new Redlock(clients, { driftFactor: 0.01, retryCount: -1, retryDelay: 20, retryJitter: 10 });
const stats = { paid: 0, refused: 0, reports: 0, moved: 0, jobs: 0, overlaps: 0, late: 0, clientErrors: 0 };
const faults = { uncaught: [], unhandled: [] };

redlock.on("clientError", () => {
  stats.clientErrors += 1;
});
process.on("uncaughtException", (error) => faults.uncaught.push(error.message));
process.on("unhandledRejection", (error) => faults.unhandled.push(String(error)));

/** Whoever is inside alone counts to one, in both processes. */
function inside(name, work) {
  return Bluebird.resolve(clients[0].incr(`inside:${process.env.PAIR}:${name}`))
    .then((count) => {
      if (count > 1) stats.overlaps += 1;
      return work();
    })
    .finally(() => clients[0].decr(`inside:${process.env.PAIR}:${name}`));
}

/** A callback all the way, and no wait: whoever comes second is refused. */
function pay(id, answer) {
  redlock.lockWithOptions(`payment:${id}`, 5000, { retryCount: 1, retryDelay: 1 }, (error, lock) => {
    if (error instanceof Redlock.LockError) {
      stats.refused += 1;
      return answer(409, { name: error.name, attempts: error.attempts });
    }
    if (error) return answer(500, { name: error.name });
    inside(`payment:${id}`, () => Bluebird.delay(50)).asCallback((failed) => {
      stats.paid += 1;
      lock.unlock((lost) => {
        if (lost) stats.late += 1;
        answer(failed ? 500 : 200, {
          attempts: lock.attempts,
          resource: lock.resource,
          ended: lock.expiration,
        });
      });
    });
  });
}

/** A disposer, and a lock that is extended while the report is written. */
function report(name, answer) {
  const warn = () => {
    stats.late += 1;
  };
  Bluebird.using(redlock.disposer(`report:${name}`, 1500, warn), (lock) => {
    const extending = setInterval(() => lock.extend(1500).catch(warn), 300);
    return inside(`report:${name}`, () => Bluebird.delay(2200)).finally(() => clearInterval(extending));
  }).done(
    () => {
      stats.reports += 1;
      answer(200, { name });
    },
    (error) => answer(500, { name: error.name, message: error.message }),
  );
}

/** Two resources at once, by promises. */
function transfer(from, to, answer) {
  const accounts = [`account:${from}`, `account:${to}`];
  return redlock
    .lock(accounts, 3000)
    .tap(() => inside("accounts", () => Bluebird.delay(5)))
    .then((lock) => lock.extend(3000))
    .then((lock) => lock.unlock().return(lock))
    .timeout(20_000)
    .then((lock) => {
      stats.moved += 1;
      answer(200, { accounts: lock.resource.length });
    })
    .catch(Redlock.LockError, (error) => answer(409, { message: error.message }))
    .catch((error) => answer(500, { message: error.message }));
}

/** A lock that expires before its work is done: `unlock` says so. */
function slow(answer) {
  redlock
    .acquire("slow", 100)
    .delay(300)
    .then((lock) => redlock.release(lock))
    .done(
      () => answer(200, {}),
      (error) =>
        answer(410, { name: error.name, attempts: error.attempts, is: error instanceof Redlock.LockError }),
    );
}

/** The worker: takes its lock, works, and starts again. */
let stopped = false;
function work() {
  if (stopped) return;
  redlock.lock("jobs", 2000).nodeify((error, lock) => {
    if (error) return setTimeout(work, 50);
    inside("jobs", () => Bluebird.delay(5))
      .then(() => lock.extend(2000))
      .then(() => lock.unlock())
      .catch(() => {})
      .finally(() => {
        stats.jobs += 1;
        setTimeout(work, 10);
      });
  });
}

const routes = {
  pay: ([id], answer) => pay(id, answer),
  report: ([name], answer) => report(name, answer),
  transfer: ([from, to], answer) => transfer(from, to, answer),
  slow: (_, answer) => slow(answer),
  throws: (_, answer) => {
    redlock.lock("throws", 1000, () => {
      setTimeout(() => answer(200, {}), 50);
      throw new Error("a mistake in a callback");
    });
  },
  ignored: ([id], answer) => {
    redlock.lockWithOptions(`payment:${id}`, 1000, { retryCount: 1, retryDelay: 1 }, () => answer(200, {}));
  },
  stats: (_, answer) => answer(200, { ...stats, ...faults }),
};

const server = http.createServer((request, response) => {
  const [, route, ...words] = request.url.split("/");
  routes[route](words, (status, body) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
});

process.once("SIGTERM", () => {
  stopped = true;
  server.close();
  server.closeAllConnections();
  redlock.quit((error) => process.exit(error ? 1 : 0));
});

Bluebird.all(clients.map((client) => client.ping())).then(() => {
  work();
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
});
