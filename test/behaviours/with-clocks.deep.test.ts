import { playOnRealMasters } from "./on-real-masters.ts";

playOnRealMasters("with-clocks");
