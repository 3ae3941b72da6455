import { playOnRealMasters } from "./on-real-masters.ts";

playOnRealMasters("node-redis-oldest");
