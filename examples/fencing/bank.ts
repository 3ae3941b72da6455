import { EventEmitter, once } from "node:events";
import { Crew } from "../stage/crew.ts";
import type { Stage } from "../stage/stage.ts";
import { Account } from "./account.ts";
import type { Order, Report } from "./teller.ts";

type Of<Kind> = Extract<Report, { kind: Kind }>;

/** An account, and two tellers that book payments from it: a process each. */
export class Bank {
  readonly #stage: Stage;
  readonly #crew: Crew<Order, Report>;
  readonly #reports = new EventEmitter();
  readonly #account: Account;

  private constructor(stage: Stage, account: Account) {
    this.#stage = stage;
    this.#account = account;
    const script = new URL("teller.ts", import.meta.url);
    this.#crew = new Crew(stage, script, ["Anna", "Ben"], (name, report) =>
      this.#reports.emit(`${name} ${report.kind}`, report),
    );
  }

  static async open(stage: Stage, balance: number): Promise<Bank> {
    const account = await Account.open(balance);
    stage.onEnd(() => account.close());
    return new Bank(stage, account);
  }

  get broken(): Promise<never> {
    return this.#crew.broken;
  }

  /** Whether the database has taken the write of Ben, who holds the lock, and not that of Anna, who did before. */
  async day(urls: readonly string[]): Promise<boolean> {
    const { narrator } = this.#stage;
    const ready = ["Anna", "Ben"].map((name) => this.#report(name, "ready"));
    this.#crew.tellAll({ kind: "open", urls });
    await Promise.all(ready);

    const anna = await this.#acquire("Anna");
    const ofAnna = this.#report("Anna", "writes");
    this.#crew.tell("Anna", {
      kind: "book",
      amount: 30,
      balance: await this.#account.balance(),
      isPaused: true,
    });
    narrator.event("paused", "yellow", "Anna has looked at her lock, and is stopped just before she writes");

    // She cannot give it up, so he has it when it has run out.
    const ben = await this.#acquire("Ben");
    const ofBen = this.#report("Ben", "writes");
    this.#crew.tell("Ben", {
      kind: "book",
      amount: 50,
      balance: await this.#account.balance(),
      isPaused: false,
    });
    const isBenHeard = await this.#write("Ben", await ofBen);

    const looksAgain = this.#report("Anna", "looks again");
    process.kill(this.#crew.pids[0]!, "SIGCONT");
    narrator.event("awake", "yellow", "Anna goes on, and writes what she was about to write");
    const isAnnaHeard = await this.#write("Anna", await ofAnna);
    narrator.event("looks", "dim", `Anna's lock is ${(await looksAgain).state}`);

    narrator.line(`the balance is ${await this.#account.balance()}: 100 less Ben's 50`);
    await this.#crew.leave({ kind: "leave" });
    return ben > anna && isBenHeard && !isAnnaHeard;
  }

  async #acquire(name: string): Promise<number> {
    const holds = this.#report(name, "holds");
    this.#crew.tell(name, { kind: "acquire" });
    const { token } = await holds;
    this.#stage.narrator.event("lock", "green", `${name} holds the account, with fencing token ${token}`);
    return token;
  }

  async #write(name: string, { balance, token }: Of<"writes">): Promise<boolean> {
    const isTaken = await this.#account.write(balance, token);
    if (isTaken) this.#stage.narrator.event("written", "green", `${name} makes the balance ${balance}`);
    else
      this.#stage.narrator.event(
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
