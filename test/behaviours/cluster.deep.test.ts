import { playOnRealMasters } from "./on-real-masters.ts";

playOnRealMasters("cluster");
