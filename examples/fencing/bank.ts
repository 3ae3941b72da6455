import { EventEmitter, once } from "node:events";
import type { Fixture } from "../fixture/fixture.ts";
import { WorkerGroup } from "../fixture/worker-group.ts";
import { Account } from "./account.ts";
import type { Order, Report } from "./teller.ts";

type Of<Kind> = Extract<Report, { kind: Kind }>;

/** An account and two tellers that book payments from it, each in its own process. */
export class Bank {
  readonly #fixture: Fixture;
  readonly #workers: WorkerGroup<Order, Report>;
  readonly #reports = new EventEmitter();
  readonly #account: Account;

  private constructor(fixture: Fixture, account: Account) {
    this.#fixture = fixture;
    this.#account = account;
    const script = new URL("teller.ts", import.meta.url);
    this.#workers = new WorkerGroup(fixture, script, ["Anna", "Ben"], (name, report) =>
      this.#reports.emit(`${name} ${report.kind}`, report),
    );
  }

  static async open(fixture: Fixture, balance: number): Promise<Bank> {
    const account = await Account.open(balance);
    fixture.onEnd(() => account.close());
    return new Bank(fixture, account);
  }

  get broken(): Promise<never> {
    return this.#workers.broken;
  }

  /** True if the database accepts the write of Ben, the holder, and rejects that of Anna, the previous holder. */
  async day(urls: readonly string[]): Promise<boolean> {
    const { narrator } = this.#fixture;
    const ready = ["Anna", "Ben"].map((name) => this.#report(name, "ready"));
    this.#workers.sendAll({ kind: "open", urls });
    await Promise.all(ready);

    const anna = await this.#acquire("Anna");
    const ofAnna = this.#report("Anna", "writes");
    this.#workers.send("Anna", {
      kind: "book",
      amount: 30,
      balance: await this.#account.balance(),
      isPaused: true,
    });
    narrator.event("paused", "yellow", "Anna has looked at her lock, and is stopped just before she writes");

    // Anna's process cannot release the lock, so Ben gets it when it has expired.
    const ben = await this.#acquire("Ben");
    const ofBen = this.#report("Ben", "writes");
    this.#workers.send("Ben", {
      kind: "book",
      amount: 50,
      balance: await this.#account.balance(),
      isPaused: false,
    });
    const isBenHeard = await this.#write("Ben", await ofBen);

    const looksAgain = this.#report("Anna", "looks again");
    process.kill(this.#workers.pids[0]!, "SIGCONT");
    narrator.event("awake", "yellow", "Anna goes on, and writes what she was about to write");
    const isAnnaHeard = await this.#write("Anna", await ofAnna);
    narrator.event("looks", "dim", `Anna's lock is ${(await looksAgain).state}`);

    narrator.line(`the balance is ${await this.#account.balance()}: 100 less Ben's 50`);
    await this.#workers.leave({ kind: "leave" });
    return ben > anna && isBenHeard && !isAnnaHeard;
  }

  async #acquire(name: string): Promise<number> {
    const holds = this.#report(name, "holds");
    this.#workers.send(name, { kind: "acquire" });
    const { token } = await holds;
    this.#fixture.narrator.event("lock", "green", `${name} holds the account, with fencing token ${token}`);
    return token;
  }

  async #write(name: string, { balance, token }: Of<"writes">): Promise<boolean> {
    const isTaken = await this.#account.write(balance, token);
    if (isTaken) this.#fixture.narrator.event("written", "green", `${name} makes the balance ${balance}`);
    else
      this.#fixture.narrator.event(
        "refused",
        "red",
        `the database does not take ${balance} from ${name}: too old`,
      );
    return isTaken;
  }

  async #report<Kind extends Report["kind"]>(name: string, kind: Kind): Promise<Of<Kind>> {
    const [report] = (await once(this.#reports, `${name} ${kind}`)) as [Of<Kind>];
    return report;
  }
}
