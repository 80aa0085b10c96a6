// The theme that was chosen, before anything is painted.
"use strict";
const THEME = "trustbed-theme";
const chosen = localStorage.getItem(THEME);
if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
