import { Crew } from "../fixture/crew.ts";
import type { Fixture } from "../fixture/fixture.ts";
import { Account } from "./account.ts";
import type { Payment, Teller } from "./teller.ts";

/** An account and two tellers that book payments from it, each in its own process. */
export class Bank {
  readonly #fixture: Fixture;
  readonly #tellers: Crew<Teller>;
  readonly #account: Account;

  private constructor(fixture: Fixture, account: Account) {
    this.#fixture = fixture;
    this.#account = account;
    const script = new URL("teller.ts", import.meta.url);
    this.#tellers = new Crew(fixture, script, ["Anna", "Ben"], () => ({}));
  }

  static async open(fixture: Fixture, balance: number): Promise<Bank> {
    const account = await Account.open(balance);
    fixture.onEnd(() => account.close());
    return new Bank(fixture, account);
  }

  get broken(): Promise<never> {
    return this.#tellers.broken;
  }

  /** True if the database accepts the write of Ben, the holder, and rejects that of Anna, the previous holder. */
  async day(urls: readonly string[]): Promise<boolean> {
    const { narrator } = this.#fixture;
    await this.#tellers.all((teller) => teller.open(urls));
    const [anna, ben] = [this.#tellers.the("Anna"), this.#tellers.the("Ben")];

    const tokenOfAnna = await this.#acquire("Anna");
    const ofAnna = anna.book(30, await this.#account.balance(), true);
    narrator.event("paused", "yellow", "Anna has looked at her lock, and is stopped just before she writes");

    // Anna's process cannot release the lock, so Ben gets it when it has expired.
    const tokenOfBen = await this.#acquire("Ben");
    const isBenHeard = await this.#write("Ben", await ben.book(50, await this.#account.balance(), false));

    process.kill(this.#tellers.pids[0]!, "SIGCONT");
    narrator.event("awake", "yellow", "Anna goes on, and writes what she was about to write");
    const isAnnaHeard = await this.#write("Anna", await ofAnna);
    narrator.event("looks", "dim", `Anna's lock is ${await anna.look()}`);

    narrator.line(`the balance is ${await this.#account.balance()}: 100 less Ben's 50`);
    await this.#tellers.leave();
    return tokenOfBen > tokenOfAnna && isBenHeard && !isAnnaHeard;
  }

  async #acquire(name: string): Promise<number> {
    const token = await this.#tellers.the(name).acquire();
    this.#fixture.narrator.event("lock", "green", `${name} holds the account, with fencing token ${token}`);
    return token;
  }

  async #write(name: string, payment: Payment | undefined): Promise<boolean> {
    if (!payment) throw new Error(`the lock of ${name} was over before the payment`);
    const { balance, token } = payment;
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
}
