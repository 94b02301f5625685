// How good the model is on rows it has not seen, beside familiar models on the same rows.
{
  const box = el("performance"), J = D.judged;
  if (J.reason) box.append(p(J.reason));
  else {
    box.append(p(J.how));
    const head = make("tr", {}, make("th", { scope: "col" }, "model"),
      J.metrics.map(m => make("th", { scope: "col" }, m.name, make("span", { class: "small" }, m.better === "high" ? " (high is good)" : " (low is good)"))),
      make("th", { scope: "col", class: "number" }, "features used"));
    const rows = J.contenders.map((c, i) => make("tr", { class: i ? null : "own" },
      make("th", { scope: "row" }, c.name, c.note ? make("div", { class: "small" }, c.note) : null),
      J.metrics.map(m => scoreCell(m, c.scores[m.key], J.contenders.map(o => o.scores[m.key]))),
      make("td", { class: "number", "data-label": "features used" }, c.n_features === null ? "–" : num(c.n_features, 4))));
    box.append(make("div", { class: "wide" }, make("table", { id: "scores", class: "stacks" }, make("thead", {}, head), make("tbody", {}, rows))));
    box.append(p(`In brackets and as lines, 95\u202f% intervals over the ${J.n_test} held-out rows` +
      `${M.classes.length ? " (accuracy: Wilson's; others: bootstrap)" : " (bootstrap)"}; they do not include the variance from refitting. ` +
      "«Features used» counts those of the median sample.", "small"));
    if (J.curves.length) box.append(make("figure", { id: "thirds" }, survivalChart(J.curves, { describe: "Survival by thirds of the predicted risk" }),
      make("figcaption", {}, "Observed survival (Kaplan-Meier) of the held-out rows in thirds of their predicted risk, with 95\u202f% bands. ",
        J.curves.map(c => `${c.name}: ${c.median}`).join("; "), ".")));
  }
}
function scoreCell(metric, [value, lower, upper], all) {
  if (value === null) return make("td", { "data-label": metric.name }, "–");
  const known = all.flat().filter(v => v !== null), low = Math.min(...known), high = Math.max(...known);
  const x = v => 4 + (v - low) / (high - low || 1) * 132;
  const places = Math.max(...known.map(Math.abs)) >= 100 ? 1 : 3;
  return make("td", { "data-label": metric.name }, `${fixed(value, places)} `, make("span", { class: "small" }, `(${fixed(lower, places)}–${fixed(upper, places)})`),
    make("svg", { width: 140, height: 10, "aria-hidden": "true" },
      make("line", { x1: 4, x2: 136, y1: 5, y2: 5, stroke: "var(--faint)" }),
      make("line", { x1: x(lower), x2: x(upper), y1: 5, y2: 5, stroke: "var(--down)", "stroke-width": 2 }),
      make("circle", { cx: x(value), cy: 5, r: 3.5, fill: "var(--down)" })));
}
