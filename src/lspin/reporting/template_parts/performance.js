// How good the model is on rows it has not seen, beside familiar models on the same rows.
{
  const box = el("performance"), J = D.judged;
  if (J.reason) box.append(p(J.reason));
  else {
    box.append(p(J.how), scoreTable(J, "scores", true));
    box.append(p(`In brackets and as lines, 95\u202f% intervals over the ${J.n_test} held-out rows` +
      `${M.classes.length ? " (accuracy: Wilson's; others: bootstrap)" : " (bootstrap)"}; they do not include the variance from refitting. ` +
      "«Features used» counts those of the median sample.", "small"));
    if (J.curves.length) box.append(make("figure", { id: "thirds" }, survivalChart(J.curves, { describe: "Survival by thirds of the predicted risk" }),
      make("figcaption", {}, `Observed survival (Kaplan-Meier) of the held-out rows${J.curves.length > 1 ? " in thirds of their predicted risk" : ""}, with 95\u202f% bands. `,
        medians(J.curves))));
  }
}
if (D.leaderboard) {
  const box = el("performance"), L = D.leaderboard, failed = Object.entries(L.failed || {});
  box.append(make("h3", {}, "Leaderboard"), p(L.how), scoreTable(L, "leaderboard", false),
    failed.length ? p(`Not judged: ${failed.map(([name, why]) => `${name} (${why})`).join("; ")}.`, "small") : "");
}
// Models in rows, scores with their intervals in columns; where they are known, seconds and calibration too.
function scoreTable(board, id, ownFirst) {
  const extra = [["features used", c => c.n_features === null ? "–" : num(c.n_features, 4)]];
  const known = key => board.contenders.some(c => c[key] !== undefined && c[key] !== null);
  if (known("calibration_error")) extra.push(["calibration error", c => fixed(c.calibration_error, 3)]);
  if (known("seconds")) extra.push(["seconds", c => fixed(c.seconds, 1)]);
  const head = make("tr", {}, make("th", { scope: "col" }, "model"),
    board.metrics.map(m => make("th", { scope: "col" }, m.name, make("span", { class: "small" }, m.better === "high" ? " (high is good)" : " (low is good)"))),
    extra.map(([title]) => make("th", { scope: "col", class: "number" }, title)));
  const rows = board.contenders.map((c, i) => make("tr", { class: ownFirst && !i || c.name === "lspin" ? "own" : null },
    make("th", { scope: "row" }, c.name, c.note ? make("div", { class: "small" }, c.note) : null),
    board.metrics.map(m => scoreCell(m, c.scores[m.key], board.contenders.map(o => o.scores[m.key]))),
    extra.map(([title, show]) => make("td", { class: "number", "data-label": title }, show(c)))));
  return make("div", { class: "wide" }, make("table", { id, class: "stacks" }, make("thead", {}, head), make("tbody", {}, rows)));
}
function scoreCell(metric, [value, lower, upper], all) {
  if (value === null) return make("td", { "data-label": metric.name }, "–");
  const known = all.flat().filter(v => v !== null), low = Math.min(...known), high = Math.max(...known);
  const x = v => 4 + (v - low) / (high - low || 1) * 132;
  const places = Math.max(...known.map(Math.abs)) >= 100 ? 1 : 3;
  return make("td", { "data-label": metric.name }, make("span", { class: "score" }, `${fixed(value, places)} `, make("span", { class: "small" }, `(${fixed(lower, places)} to ${fixed(upper, places)})`)),
    make("svg", { width: 140, height: 10, "aria-hidden": "true" },
      make("line", { x1: 4, x2: 136, y1: 5, y2: 5, stroke: "var(--faint)" }),
      make("line", { x1: x(lower), x2: x(upper), y1: 5, y2: 5, stroke: "var(--down)", "stroke-width": 2 }),
      make("circle", { cx: x(value), cy: 5, r: 3.5, fill: "var(--down)" })));
}
