"use strict";
(() => {
  const page = JSON.parse(document.getElementById("report-data").textContent);
  const slider = document.getElementById("coverage");
  const [less, more, reset] = ["less", "more", "reset"].map((id) => document.getElementById(id));
  let shown = page.start;

  // The precomputed coverage nearest to where the slider stands.
  function nearest(value) {
    let best = 0;
    page.coverages.forEach((coverage, index) => {
      if (Math.abs(coverage - value) < Math.abs(page.coverages[best] - value) - 1e-9) best = index;
    });
    return best;
  }

  function fillTable(name, rows, bars) {
    const body = document.querySelector(`table[data-table="${name}"] tbody`);
    if (!body) return;
    body.replaceChildren(...rows.map((cells, number) => {
      const row = document.createElement("tr");
      cells.forEach((text, column) => {
        const cell = document.createElement(column ? "td" : "th");
        if (!column) cell.scope = "row";
        if (bars && column === cells.length - 1) addBar(cell, bars[number], text);
        else cell.textContent = text;
        row.append(cell);
      });
      return row;
    }));
  }

  function addBar(cell, [from, size], text) {
    cell.className = "bar";
    const bar = document.getElementById("bar").content.cloneNode(true);
    const fill = bar.querySelector("rect.fill");
    fill.setAttribute("x", from);
    fill.setAttribute("width", size);
    const label = document.createElement("span");
    label.textContent = text;
    cell.append(bar, label);
  }

  function show(index) {
    shown = index;
    const step = page.steps[index];
    document.querySelectorAll("[data-field]").forEach((element) => {
      const text = step.fields[element.dataset.field];
      if (text !== undefined) element.textContent = text;
    });
    document.querySelectorAll("[data-mark]").forEach((element) => {
      Object.entries(step.marks[element.dataset.mark]).forEach(([name, value]) => {
        if (name === "text") element.textContent = value;
        else element.setAttribute(name, value);
      });
    });
    Object.entries(step.tables).forEach(([name, rows]) => fillTable(name, rows, name === "features" && step.bars));
    document.getElementById("guard").className = "verdict " + (step.guard_ok ? "ok" : "alarm");
    document.getElementById("nobody").hidden = step.someone_reviewed;
    slider.setAttribute("aria-valuetext", `${step.fields.target_coverage}, AUC ${step.fields.selective_auc}`);
    less.disabled = index === 0;
    more.disabled = index === page.coverages.length - 1;
    reset.disabled = index === page.start;
  }

  function go(index) {
    slider.value = page.coverages[index];
    show(index);
  }

  slider.addEventListener("input", () => show(nearest(Number(slider.value))));
  less.addEventListener("click", () => go(Math.max(0, shown - 1)));
  more.addEventListener("click", () => go(Math.min(page.coverages.length - 1, shown + 1)));
  reset.addEventListener("click", () => go(page.start));

  // Paper cannot be unfolded.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((part) => { part.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));

  go(page.start); // some browsers remember where a slider stood
})();
