import { PGlite } from "@electric-sql/pglite";

/** An account in a PostgreSQL database that stores the largest fencing token of any write. */
export class Account {
  readonly #database: PGlite;

  private constructor(database: PGlite) {
    this.#database = database;
  }

  static async open(balance: number): Promise<Account> {
    const database = await PGlite.create();
    await database.exec("CREATE TABLE account (balance integer NOT NULL, token bigint NOT NULL)");
    await database.query("INSERT INTO account VALUES ($1, 0)", [balance]);
    return new Account(database);
  }

  async balance(): Promise<number> {
    const { rows } = await this.#database.query<{ balance: number }>("SELECT balance FROM account");
    return rows[0]!.balance;
  }

  /**
   * Writes nothing and returns false if a holder with the same or a larger token has already written. (A holder that
   * writes more than once under one lock needs `token <= $2`.)
   */
  async write(balance: number, token: number): Promise<boolean> {
    const update = "UPDATE account SET balance = $1, token = $2 WHERE token < $2";
    const { affectedRows } = await this.#database.query(update, [balance, token]);
    return affectedRows === 1;
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
