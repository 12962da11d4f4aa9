"use strict";
(() => {
  const page = JSON.parse(document.getElementById("report-data").textContent);
  const slider = document.getElementById("coverage");
  const [less, more, reset] = ["less", "more", "reset"].map((id) => document.getElementById(id));
  const config = { displayModeBar: false, responsive: true, showTips: false };
  let shown = page.start;

  // The precomputed coverage nearest to where the slider stands.
  function nearest(value) {
    let best = 0;
    page.coverages.forEach((coverage, index) => {
      if (Math.abs(coverage - value) < Math.abs(page.coverages[best] - value) - 1e-9) best = index;
    });
    return best;
  }

  function draw(name, index, size) {
    const { figure, frames } = page.charts[name];
    const frame = frames[index];
    const traces = figure.data.map((trace, number) => ({ ...trace, ...frame.traces[number] }));
    const layout = { ...figure.layout, ...frame.layout, ...size };
    return Plotly.react(document.getElementById("chart-" + name), traces, layout, config);
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
    const [track, fill, label] = ["track", "fill", ""].map((name) => {
      const span = document.createElement("span");
      if (name) span.className = name;
      return span;
    });
    fill.style.setProperty("--from", from + "%");
    fill.style.setProperty("--size", size + "%");
    label.textContent = text;
    track.append(fill);
    cell.append(track, label);
  }

  function showTexts(index) {
    const step = page.steps[index];
    document.querySelectorAll("[data-field]").forEach((element) => {
      const text = step.fields[element.dataset.field];
      if (text !== undefined) element.textContent = text;
    });
    Object.entries(step.tables).forEach(([name, rows]) => fillTable(name, rows, name === "features" && step.bars));
    document.getElementById("guard").className = "verdict " + (step.guard_ok ? "ok" : "alarm");
    document.getElementById("nobody").hidden = step.someone_reviewed;
    slider.setAttribute("aria-valuetext", `${step.fields.target_coverage}, AUC ${step.fields.selective_auc}`);
    less.disabled = index === 0;
    more.disabled = index === page.coverages.length - 1;
    reset.disabled = index === page.start;
  }

  let waiting = false;
  function show(index) {
    shown = index;
    showTexts(index);
    if (waiting) return;
    waiting = true; // dragging fires faster than charts draw: draw once per picture
    requestAnimationFrame(() => {
      waiting = false;
      Object.keys(page.charts).forEach((name) => draw(name, shown));
    });
  }

  function go(index) {
    slider.value = page.coverages[index];
    show(index);
  }

  slider.addEventListener("input", () => show(nearest(Number(slider.value))));
  less.addEventListener("click", () => go(Math.max(0, shown - 1)));
  more.addEventListener("click", () => go(Math.min(page.coverages.length - 1, shown + 1)));
  reset.addEventListener("click", () => go(page.start));

  // Paper has its own width: 182 mm between the margins of A4, and half of it for charts side by side.
  const full = { width: 680, height: 250, autosize: false };
  const half = { width: 332, height: 240, autosize: false };
  const paper = { roc: half, cap: half, distribution: { ...full, height: 260 } };
  window.addEventListener("beforeprint", () => {
    Object.keys(page.charts).forEach((name) => draw(name, shown, paper[name] || full));
  });
  window.addEventListener("afterprint", () => {
    Object.keys(page.charts).forEach((name) => {
      draw(name, shown, { autosize: true }).then((chart) => Plotly.Plots.resize(chart));
    });
  });

  go(page.start); // some browsers remember where a slider stood
})();
