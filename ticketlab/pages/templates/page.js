"use strict";

/* Tables: sort by the buttons in their headings; filter by text and by the levels of factors. */

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function compare(left, right, direction) {
  if (left === right) return 0;
  if (left === "") return 1; // empty cells are last in both directions
  if (right === "") return -1;
  const [a, b] = [Number(left), Number(right)];
  return direction * (Number.isNaN(a) || Number.isNaN(b) ? collator.compare(left, right) : a - b);
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const headings = [...table.tHead.querySelectorAll("th[data-column]")];

  function sort(heading, order) {
    for (const other of headings) other.removeAttribute("aria-sort");
    let rows = original;
    if (order) {
      heading.setAttribute("aria-sort", order);
      const column = Number(heading.dataset.column);
      const value = (row) => row.cells[column].dataset.value ?? "";
      rows = [...original].sort((a, b) => compare(value(a), value(b), order === "ascending" ? 1 : -1));
    }
    body.append(...rows);
  }

  for (const heading of headings) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    const first = heading.classList.contains("number") ? "descending" : "ascending";
    const second = first === "descending" ? "ascending" : "descending";
    button.addEventListener("click", () => {
      const now = heading.getAttribute("aria-sort");
      sort(heading, now === null ? first : now === first ? second : null);
    });
  }
}

function makeFilterable(form) {
  const table = document.getElementById(form.dataset.table);
  const rows = [...table.tBodies[0].rows];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const count = form.querySelector("output");

  function apply() {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = [...form.querySelectorAll("select")].filter((select) => select.value !== "");
    let shown = 0;
    for (const row of rows) {
      const matches =
        words.every((word) => texts.get(row).includes(word)) &&
        chosen.every((select) => row.cells[Number(select.dataset.column)].dataset.value === select.value.slice(1));
      row.hidden = !matches;
      shown += matches;
    }
    count.value = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
  }

  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  form.hidden = false;
  apply();
}

/* The theme: that of the system until the reader chooses one. */

function makeThemeSwitch(button) {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => button.setAttribute("aria-pressed", String(isDark()));

  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("ticketlab-theme", root.dataset.theme);
    } catch {} // storage may be forbidden; the choice then lasts until the page is closed
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
}

/* A link to something inside closed details opens them. */

function openTarget() {
  let found = null;
  try {
    found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {} // a malformed fragment names nothing
  for (let place = found; place; place = place.parentElement) {
    if (place instanceof HTMLDetailsElement) place.open = true;
  }
  found?.scrollIntoView();
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll("form[data-table]").forEach(makeFilterable);
makeThemeSwitch(document.getElementById("theme"));
addEventListener("hashchange", openTarget);
if (location.hash) openTarget();
