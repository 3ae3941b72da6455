import { writeFile } from "node:fs/promises";
import { viewer } from "./viewer.ts";

// A part of the build: what the page of a run consists of, beside the program that writes such pages.
const { script, style } = await viewer();
await writeFile("dist/esm/viewer.txt", script);
await writeFile("dist/esm/viewer.css", style);
