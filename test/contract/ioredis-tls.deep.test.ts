import { Redis } from "ioredis";
import { contractWithTls } from "./tls-master.ts";

contractWithTls(
  "ioredis 6, TLS",
  (port) => new Redis(port, "127.0.0.1", { tls: { rejectUnauthorized: false } }),
);
