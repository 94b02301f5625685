// Charts: drawn by us, at the width they have, so that text keeps its size on a phone.
const redraws = [];
function responsive(draw) {
  const box = make("div", { class: "chart" });
  let last = 0;
  const redraw = () => {
    const width = Math.round(box.clientWidth);
    if (!width || width === last || !box.isConnected) return;
    last = width;
    box.replaceChildren(...[draw(width)].flat());
  };
  redraws.push(redraw);
  box.redraw = redraw;
  return box;
}
function redrawAll() { redraws.forEach(redraw => redraw()); }
window.addEventListener("resize", redrawAll);

function ticks(low, high, n = 4) {
  const span = (high - low) || Math.abs(high) || 1, rough = span / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= rough);
  const found = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-6; t += step) found.push(Math.abs(t) < step * 1e-6 ? 0 : Number(t.toPrecision(12)));
  return found;
}
function frame(width, height, xLimits, yLimits, labels, describe, options = {}) {
  const left = 52, right = options.right ?? 12, top = 12, bottom = 44;
  const x = v => left + (v - xLimits[0]) / (xLimits[1] - xLimits[0] || 1) * (width - left - right);
  const y = v => height - bottom - (v - yLimits[0]) / (yLimits[1] - yLimits[0] || 1) * (height - top - bottom);
  const extra = options.below ?? 0;
  const svg = make("svg", { viewBox: `0 0 ${width} ${height + extra}`, width, height: height + extra, role: "img", "aria-label": describe });
  const word = options.percent ? v => percent(v) : v => num(v);
  for (const t of ticks(...yLimits)) svg.append(
    make("line", { x1: left, x2: width - right, y1: y(t), y2: y(t), stroke: "var(--faint)" }),
    make("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end" }, word(t)));
  const xTicks = options.ticks || ticks(...xLimits, width < 420 ? 3 : 4);
  for (const t of xTicks) svg.append(make("text", { x: x(t), y: height - bottom + 18, "text-anchor": "middle" }, options.percentX ? percent(t) : num(t)));
  svg.append(
    make("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, stroke: "var(--soft)" }),
    make("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, clip(labels.x, width - left)),
    make("text", { x: 0, y: 0, transform: `translate(11 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, clip(labels.y, height - 40)));
  return { svg, x, y, left, right };
}
// A name that fits into so many pixels.
function clip(text, pixels) {
  const letters = [...text], most = Math.max(6, Math.floor(pixels / 6.4));
  return letters.length <= most ? text : letters.slice(0, Math.ceil(most / 2) - 1).join("") + "…" + letters.slice(-Math.floor(most / 2)).join("");
}

function calibrationChart(c) {
  return responsive(width => {
    const all = c.bins.flatMap(b => [b[0], b[2] ?? b[1], b[3] ?? b[1]]).filter(v => v !== null);
    const limits = c.limits || [Math.min(...all), Math.max(...all)], isShare = c.limits !== null;
    const side = Math.min(width, 420), at = text => T && T.unit ? text.replace("at time", "at") + " " + T.unit : text;
    const withUnit = isTwo ? { x: `predicted probability of ${M.event_words}`, y: `observed share of ${M.event_words}` } : { x: at(c.x), y: at(c.y) };
    const { svg, x, y } = frame(side, side * 0.85, limits, limits, withUnit, "Calibration: predicted against observed", { percent: isShare, percentX: isShare });
    const largest = Math.max(...c.bins.map(b => b[4]));
    svg.append(make("line", { x1: x(limits[0]), y1: y(limits[0]), x2: x(limits[1]), y2: y(limits[1]), stroke: "var(--soft)", "stroke-dasharray": "3 4" }));
    for (const [px, py, lower, upper, size] of c.bins) svg.append(
      make("line", { x1: x(px), x2: x(px), y1: y(lower ?? py), y2: y(upper ?? py), stroke: "var(--down)", "stroke-width": 1.5 }),
      make("circle", { cx: x(px), cy: y(py), r: 3 + 3 * Math.sqrt(size / largest), fill: "var(--down)" }));
    return svg;
  });
}
function histogramChart(h, limit) {
  return responsive(width => {
    const end = h.to[h.to.length - 1], wide = Math.min(width, 420);
    const step = Math.max(1, Math.ceil(end / 6)), whole = [...Array(end).keys()].filter(v => v % step === 0);
    const { svg, x, y } = frame(wide, 230, [-0.5, end - 0.5], [0, Math.max(...h.count)], { x: "features that a sample uses", y: "samples" }, "How many features samples use", { ticks: whole });
    h.from.forEach((from, i) => h.count[i] && svg.append(make("rect", {
      x: x(from - 0.5) + 1, width: Math.max(x(h.to[i]) - x(from) - 2, 1), y: y(h.count[i]), height: y(0) - y(h.count[i]),
      fill: from > limit ? "var(--up)" : "var(--down)" })));
    return svg;
  });
}

// Survival curves: steps with bands, a name beside each curve, the number at risk below.
const stepPoints = (times, values) => times.flatMap((t, k) => k ? [[t, values[k - 1]], [t, values[k]]] : [[t, values[k]]]);
const linePoints = (times, values) => times.map((t, k) => [t, values[k]]);
// A median with its interval, in the unit of the times; «not reached» has none.
const inUnit = text => T && T.unit && text.endsWith(")") ? text.replace(/ (?=\([^(]*$)/, ` ${T.unit} `) : text;
const medians = curves => curves.map((c, k) => inUnit(`${k ? c.name : c.name[0].toUpperCase() + c.name.slice(1)}: ${c.median}`)).join("; ") + ".";
const timeLabel = () => T && T.unit ? `time (${T.unit})` : "time";
function survivalChart(curves, options = {}) {
  const colours = options.colours || ["var(--down)", "var(--third)", "var(--up)", MARKS[3], MARKS[4], MARKS[5], MARKS[6], MARKS[7]];
  const dashes = options.dashes || [null, "7 3", "2 3", "9 3 2 3"];
  const marks = options.ticks || curves[0].ticks, rows = curves.filter(c => c.at_risk);
  return responsive(width => {
    const beside = width >= 560, right = beside ? 150 : 12;
    const below = rows.length ? 20 + 32 * rows.length : 0, last = marks[marks.length - 1];
    const every = Math.ceil(marks.length / Math.max(2, Math.floor((width - 52 - right) / 52)));
    const shown = marks.filter((_, k) => k % every === 0);
    const { svg, x, y, left } = frame(width, Math.min(320, Math.max(240, width * 0.5)), [0, last], [0, 1], { x: timeLabel(), y: "without the event" }, options.describe || "Survival curves", { percent: true, right, below, ticks: shown });
    const height = Number(svg.getAttribute("height")) - below;
    const ends = curves.map((c, i) => {
      const shape = c.smooth ? linePoints : stepPoints, points = shape(c.times, c.survival);
      if (c.lower) {
        const known = c.times.map((_, k) => k).filter(k => c.lower[k] !== null && c.upper[k] !== null), pick = list => known.map(k => list[k]);
        const band = shape(pick(c.times), pick(c.lower)).concat(shape(pick(c.times), pick(c.upper)).reverse());
        svg.append(make("polygon", { class: "band", points: band.map(([a, b]) => x(a) + "," + y(b)).join(" "), fill: colours[i % colours.length], opacity: 0.15 }));
      }
      svg.append(make("polyline", { points: points.map(([a, b]) => x(a) + "," + y(b)).join(" "), fill: "none", stroke: colours[i % colours.length], "stroke-width": 2, "stroke-dasharray": dashes[i % dashes.length] }));
      return { i, at: y(points[points.length - 1][1]) };
    });
    const key = i => make("svg", { width: 26, height: 10, "aria-hidden": "true" }, make("line", { x1: 0, x2: 26, y1: 5, y2: 5, stroke: colours[i % colours.length], "stroke-width": 2, "stroke-dasharray": dashes[i % dashes.length] }));
    const label = c => c.name + (c.size ? ` (n = ${c.size.toLocaleString("en")})` : "");
    if (beside) {
      ends.sort((a, b) => a.at - b.at);
      let lowest = 4;
      for (const end of ends) { end.at = Math.max(end.at, lowest + 14); lowest = end.at; }
      for (const { i, at } of ends) svg.append(make("text", { x: width - right + 8, y: at + 4, style: { fill: colours[i % colours.length] } }, clip(curves[i].name, right - 8)));
    }
    if (rows.length) {
      svg.append(make("text", { x: left, y: height + 10, "text-anchor": "start" }, "number at risk"));
      rows.forEach((c, k) => {
        const top = height + 26 + 32 * k;
        svg.append(make("text", { x: left, y: top, style: { fill: colours[curves.indexOf(c) % colours.length] } }, clip(label(c), width - left)));
        shown.forEach(t => { const n = c.at_risk[marks.indexOf(t)]; svg.append(make("text", { x: x(t), y: top + 15, "text-anchor": "middle", class: "strong" }, n === null ? "–" : String(n))); });
      });
    }
    return beside ? svg : [svg, make("ul", { class: "legend" }, curves.map((c, i) => make("li", {}, key(i), c.name)))];
  });
}
