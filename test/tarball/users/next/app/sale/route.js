import { Redlock, ResourceLockedError } from "@quorlock/redlock";
import { Redis } from "ioredis";

export const dynamic = "force-dynamic";

const redlock = new Redlock(
  (process.env.MASTERS ?? "").split(",").map((url) => new Redis(url, { lazyConnect: true })),
);

/** Locks the sale, and fails to lock it again. */
export async function GET() {
  const lock = await redlock.acquire("sale", 10_000);
  const error = await redlock.acquire("sale", 10_000, { retryCount: 0 }).catch((reason) => reason);
  const { outcome } = await lock.release();
  return Response.json({ released: outcome, refused: error instanceof ResourceLockedError });
}
