// Fonts of the reader's system: nothing is loaded for them.
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import SimulationLab from "./SimulationLab.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => void app.component("SimulationLab", SimulationLab),
} satisfies Theme;
