import { Redis } from "ioredis";
import { contracts } from "./lock-node-contract.ts";

contracts({ "ioredis 6": { client: (port) => new Redis(port, "127.0.0.1") } });
