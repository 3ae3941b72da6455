import { createClient } from "redis";
import { contractWithTls } from "./tls-master.ts";

contractWithTls("node-redis 6, TLS", (port) =>
  createClient({ socket: { host: "127.0.0.1", port, tls: true, rejectUnauthorized: false } }),
);
