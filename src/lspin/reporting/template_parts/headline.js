// The first screen: what was asked, the verdict, discrimination and calibration, the strongest features, one sample.
{
  const H = D.headline;
  el("kind").textContent = `lspin report · ${count(M.n_given, "sample")} × ${count(M.n_features, "feature")}`;
  for (const [id, text] of [["title", D.title], ["asked", H.asked], ["verdict", H.verdict]]) el(id).append(...[sentence(text)].flat());
  const worries = [];
  if (D.trust.checks.findings.length) worries.push(`the data checks found ${count(D.trust.checks.findings.length, "thing")} to look at`);
  if (D.trust.audit.leaks) worries.push("the choice of features carries part of the answer");
  if (worries.length) el("verdict").after(make("p", { class: "note", id: "warning", style: { "--mark": "var(--up)" } }, `Before you trust this: ${worries.join(", and ")}. `, make("a", { href: "#trust" }, "Trust")));
  const tile = (title, id, ...children) => make("section", { class: "tile", id, style: { border: "0", margin: "0" } }, make("h2", {}, title), children);
  const tiles = el("tiles");
  if (!D.judged.reason) tiles.append(discriminationTile(tile), calibrationTile(tile));
  if (F.name.length) tiles.append(strongestTile(tile));
  if (F.name.length && H.example !== null && H.example !== undefined) tiles.append(exampleTile(tile, H.example));
  el("foot").textContent = `Written by lspin ${D.again.versions.lspin || ""} on ${D.again.date}. The file loads nothing and sends nothing. ` + (D.shows_samples
    ? "It holds values and names of samples. If they are patients, treat it as you treat their records."
    : "It holds no values, gates, predictions or names of single samples.");
}
function intervalOf([value, lower, upper], places = 2) {
  return [fixed(value, places), " ", make("small", {}, lower === null ? "" : `95\u202f% interval ${fixed(lower, places)} to ${fixed(upper, places)}`)];
}
function discriminationTile(tile) {
  const J = D.judged, metric = J.metrics[0];
  return tile(isTwo || T ? "Discrimination" : "Accuracy of predictions", "discrimination",
    make("p", { class: "figure" }, intervalOf(J.contenders[0].scores[metric.key])),
    make("p", {}, metric.name, isTwo ? [" for ", nameOf(M.event_words)] : "", ` on ${J.n_test.toLocaleString("en")} held-out rows`, metric.chance === null ? "" : `; the best constant prediction has ${fixed(metric.chance, 2)}`, "."),
    D.headline.rivals ? p(D.headline.rivals, "small") : null);
}
function calibrationTile(tile) {
  const named = D.judged.calibration.filter(c => c.interval[0] !== null);
  const vague = c => [c.is_off ? (c.interval[0] > c.ideal ? `above ${fixed(c.interval[1], 1)}` : `below ${fixed(c.interval[2], 1)}`) : "–", " ", make("small", {}, `too few rows to tell${c.is_off ? " how far" : ""}`)];
  const digits = c => c.key === "bias" && Math.abs(c.interval[0]) >= 10 ? 1 : 2;
  return tile(isMany ? "Calibration of the likeliest class" : "Calibration", "calibration",
    make("div", { class: "pairs" }, named.map(c => make("div", {}, make("p", { class: "figure" }, c.is_vague ? vague(c) : intervalOf(c.interval, digits(c))), p(`${c.name}${T && T.unit && c.key === "ratio" ? " " + T.unit : ""}; ideal is ${c.ideal}`, "small")))),
    p(D.headline.calibration), named.some(c => c.key === "slope" && (!c.is_vague || c.is_off)) ? p("A slope below 1 means predictions are too extreme, above 1 too cautious.", "small") : null);
}
function strongestTile(tile) {
  const top = [...F.name.keys()].slice(0, 5), most = F.importance[0] || 1;
  return tile("Strongest features", "strongest",
    make("ul", { class: "reasons" }, top.map(f => make("li", {}, nameOf(F.name[f]),
      make("span", {}, make("span", { class: "bar", style: { width: 100 * F.importance[f] / most + "%" } })),
      make("span", { class: "way" }, wayOf(F.direction[f], f))))),
    make("p", { class: "small" }, `${howMany} `, make("a", { href: "#features" }, "All\u00a0features")));
}
function exampleTile(tile, i) {
  const from = S.starts[i], to = Math.min(S.starts[i + 1], from + 4), E = S.entries;
  const largest = Math.max(...E.contribution.slice(from, to).map(Math.abs), 1e-12);
  const open = make("button", { class: "plain screen", type: "button", onclick: () => openSample(i, true) }, "Open its page");
  return tile("An example", "example",
    make("p", { class: "figure" }, predictionOf(i).figure, " ", make("small", {}, nameOf(predictionOf(i).of))),
    make("p", {}, "Sample ", nameOf(S.name[i]), S.held_out[i] ? ", not seen in the fit" : "", `. ${predictionOf(i).observed}`),
    make("ul", { class: "reasons" }, [...Array(to - from).keys()].map(k => from + k).map(e => make("li", {}, make("span", {}, nameOf(F.name[E.feature[e]]), make("span", { class: "value" }, " ", nameOf(entryValue(e)))),
      addBar(E.contribution[e], largest, 88), make("span", { class: "way" }, addWord(e, i))))),
    make("p", {}, open));
}
