import { once } from "node:events";
import type { Redlock } from "@quorlock/redlock";
import type { Redis } from "ioredis";
import type { Pool } from "pg";
import { connect } from "../fixture/connect.ts";
import { openDatabase } from "./database.ts";
import { check, type Recipe } from "./recipe.ts";

export const tables = `
  CREATE TABLE item (name text PRIMARY KEY, stock integer NOT NULL CHECK (stock >= 0), token bigint NOT NULL DEFAULT 0);
  CREATE TABLE payment (key text PRIMARY KEY, item text NOT NULL);
  INSERT INTO item VALUES ('ticket', 50);`;

/**
 * Sells one item for the payment with this idempotency key, once however often it is asked for. The lock serialises the sales of an item;
 * the database decides: it refuses a sale whose fencing token is older than one that it has seen, and a key that it has.
 */
export async function pay(
  redlock: Redlock,
  pool: Pool,
  key: string,
  item: string,
): Promise<"paid" | "paid before" | "sold out"> {
  return redlock.using(`item:${item}`, 5000, { waitTimeout: 20_000 }, async (signal, lock) => {
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      const { rowCount: isNew } = await client.query(
        "INSERT INTO payment VALUES ($1, $2) ON CONFLICT DO NOTHING",
        [key, item],
      );
      if (!isNew) return await ended(client, "paid before");
      const isSold = await sellOne(client, item, lock.fencingToken!);
      // Without its lock a sale fails as well: its token may be old.
      signal.throwIfAborted();
      if (!isSold) return await ended(client, "sold out");
      await client.query("COMMIT");
      return "paid";
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    } finally {
      client.release();
    }
  });
}

/** Changes nothing if a holder with the same or a larger token has written already, or if nothing is left. */
async function sellOne(database: Pick<Pool, "query">, item: string, token: number): Promise<boolean> {
  const sale = "UPDATE item SET stock = stock - 1, token = $2 WHERE name = $1 AND token < $2 AND stock > 0";
  const { rowCount } = await database.query(sale, [item, token]);
  return rowCount === 1;
}

async function ended<T>(client: { query(text: string): Promise<unknown> }, outcome: T): Promise<T> {
  await client.query("ROLLBACK");
  return outcome;
}

/** A payment whose lock goes to another one before it writes: it comes with an old token. Resolves to how it ends. */
async function payLate([first, second]: readonly [Redlock, Redlock], pool: Pool): Promise<string> {
  const connect = async (): Promise<unknown> => {
    const lost = once(first, "lost");
    const keys = [...first.clients].map((client) =>
      (client as Redis).set("item:ticket", "another", "PX", 2500),
    );
    await Promise.all([...keys, lost]);
    await pay(second, pool, "payment-40", "ticket");
    return pool.connect();
  };
  return pay(first, { connect } as unknown as Pool, "payment-41", "ticket").catch(({ code }) => code);
}

export const payment: Recipe = {
  title:
    "payment: each of 40 payments arrives three times, at three processes, and sells one ticket (PostgreSQL, fencing)",
  async play({ urls, say }) {
    await using database = await openDatabase(say);
    const { pool } = database;
    await pool.query(tables);
    const redlocks = Array.from({ length: 3 }, () => connect(urls, { fencing: true }));
    const keys = Array.from({ length: 40 }, (_, index) => `payment-${index}`);
    const outcomes = await Promise.all(
      redlocks.flatMap((redlock) => keys.map((key) => pay(redlock, pool, key, "ticket"))),
    );
    const { rows } = await pool.query("SELECT stock FROM item");
    const late = await payLate(redlocks as [Redlock, Redlock], pool);
    await Promise.all(redlocks.map((redlock) => redlock.quit()));
    const count = (outcome: string): number => outcomes.filter((one) => one === outcome).length;
    const { stock } = rows[0] as { stock: number };
    check(
      count("paid") === 40 && count("paid before") === 80,
      `${count("paid")} paid, ${count("paid before")} repeated`,
    );
    check(stock === 10, `${stock} of 50 tickets are left after 40 sales`);
    // A holder that was paused until its lock had expired sends its write with an old token.
    check(!(await sellOne(pool, "ticket", 1)), "an old token was accepted");
    check(late === "LOCK_LOST", `a payment without its lock ended with ${late}`);
    return `${count("paid")} tickets sold for 120 requests, ${stock} left; a write with an old token changed nothing`;
  },
};
