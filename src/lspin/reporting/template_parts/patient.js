// The page of one sample: its prediction, the reasons signed towards the event, where its values lie; to print.
let openSample = () => {};

// The prediction --------------------------------------------------------------------------------------------------
function likeliest(i) { return S.probabilities[i].indexOf(Math.max(...S.probabilities[i])); }
function shownScore(score) { return T ? factor(score - meanScore) : num(M.exponential ? Math.exp(score) : score, 4); }
function hazardAt(time) {
  const { times, cumulative } = T.hazard;
  let k = 0; while (k + 1 < times.length && times[k + 1] <= time * (1 + 1e-6)) k++;
  return cumulative[k];
}
function riskAt(time, score) { return 1 - Math.exp(-hazardAt(time) * Math.exp(score)); }
function predictionOf(i) {
  if (M.classes.length) {
    const k = isTwo ? eventPlace : likeliest(i);
    return { figure: chance(S.probabilities[i][k]), of: isTwo ? `probability of ${M.event_words}` : M.classes[k], observed: `Observed: ${M.classes[S.observed[i]]}.` };
  }
  if (T && T.at.length) {
    const place = T.at.length - 1;
    return { figure: chance(riskAt(T.at[place], S.score[i])), of: `risk by ${T.at_words[place]}`, observed: `Observed: ${observedTime(i)}.` };
  }
  return { figure: shownScore(S.score[i]), of: M.exponential || "prediction", observed: `Observed: ${T ? observedTime(i) : num(S.observed[i], 4)}.` };
}
function observedTime(i) {
  const [time, event] = S.observed[i], unit = T.unit ? " " + T.unit : "";
  return event ? `event at ${num(time, 4)}${unit}` : `no event until ${num(time, 4)}${unit}`;
}
function headline(i) { const said = predictionOf(i); return `${said.figure} ${said.of}`; }

// What a feature adds -----------------------------------------------------------------------------------------------
function addBar(value, largest, width = 110) {
  const half = width / 2, long = half * Math.min(1, Math.abs(value) / largest);
  return make("svg", { width, height: 12, viewBox: `0 0 ${width} 12`, "aria-hidden": "true", style: { display: "inline-block", "vertical-align": "middle", "margin-right": ".5em", flex: "none" } },
    make("rect", { x: value > 0 ? half : half - long, y: 1, width: Math.max(long, 0.5), height: 10, fill: value > 0 ? "var(--up)" : "var(--down)" }),
    make("line", { x1: half, x2: half, y1: 0, y2: 12, stroke: "var(--soft)" }));
}
function addText(value, size) { return isRatio ? `${ratioWord} × ${factor(value)}` : signed(value, size); }
function addWord(e, i) {
  const value = S.entries.contribution[e], size = Math.max(...S.entries.contribution.slice(S.starts[i], S.starts[i + 1]).map(Math.abs), 1e-12);
  return addText(value, size);
}
// Where its value lies among all samples.
function strip(e) {
  const f = S.entries.feature[e], place = S.entries.place[e], q = F.quantiles[f];
  if (S.entries.value[e] === null) return make("span", { class: "small" }, "–");
  if (F.levels[f] || F.two_valued[f]) return make("span", { class: "small" }, `${F.levels[f] ? place : shareOf(e)}\u202f% have this`);
  const said = `${ordinal(place)} percentile`;
  return [make("svg", { width: 120, height: 14, role: "img", "aria-label": said },
    make("line", { x1: 5, x2: 115, y1: 7, y2: 7, stroke: "var(--soft)", "stroke-width": 1 }), make("line", { x1: 32.5, x2: 87.5, y1: 7, y2: 7, stroke: "var(--soft)", "stroke-width": 4 }),
    make("circle", { cx: 5 + 1.1 * place, cy: 7, r: 5, fill: "var(--ink)", stroke: "var(--panel)", "stroke-width": 1.5 })),
    make("span", { class: "small" }, said + (q ? `, median ${beside(q[2], (q[4] - q[0]) || Math.abs(q[2]) || 1, 3)}` : ""))];
}
// The percentile of the higher of two values is the middle of its share, counted from above.
function shareOf(e) {
  const place = S.entries.place[e], q = F.quantiles[S.entries.feature[e]];
  return S.entries.value[e] === q[4] ? 2 * (100 - place) : 2 * place;
}
// The last features that together add next to nothing share one row.
const FOLDED = 0.05, FEWEST_FOLDED = 3, MOST_ROWS = 12;
function countShown(sizes) {
  const total = sizes.reduce((a, b) => a + b, 0);
  let shown = sizes.length, rest = 0;
  while (shown > 0 && rest + sizes[shown - 1] <= FOLDED * total) rest += sizes[--shown];
  shown = Math.min(shown, MOST_ROWS);
  return sizes.length - shown >= FEWEST_FOLDED ? shown : Math.min(sizes.length, MOST_ROWS + FEWEST_FOLDED - 1);
}

// The sheet ---------------------------------------------------------------------------------------------------------
const fact = (title, ...value) => make("div", {}, make("dt", {}, title), make("dd", {}, value));
function factsOf(i) {
  const facts = make("dl", { class: "facts" }), sure = S.spread && S.spread[i];
  const range = (low, high) => `members say ${low} to ${high}`;
  if (isTwo) {
    const own = S.probabilities[i][eventPlace], flip = likeliest(i) === eventPlace;
    const [low, high] = sure ? (flip ? sure : [1 - sure[1], 1 - sure[0]]) : [];
    facts.append(fact(`probability of ${M.event_words}`, chance(own), make("small", {}, (sure ? range(chance(low), chance(high)) + "; " : "") + `cohort ${percent(cohortShare(eventPlace))}`)));
    facts.append(fact("observed", nameOf(M.classes[S.observed[i]])));
  } else if (isMany) {
    const order = S.probabilities[i].map((v, c) => [v, c]).sort((a, b) => b[0] - a[0]);
    facts.append(fact("prediction", nameOf(M.classes[order[0][1]]), ` ${chance(order[0][0])}`, make("small", {}, join(order.slice(1, 3).map(([v, c]) => [nameOf(M.classes[c]), " " + chance(v)])), sure ? "; " + range(chance(sure[0]), chance(sure[1])) : "")));
    facts.append(fact("observed", nameOf(M.classes[S.observed[i]])));
  } else if (T) {
    T.at.forEach((time, k) => facts.append(fact(`risk by ${T.at_words[k]}`, chance(riskAt(time, S.score[i])),
      make("small", {}, (sure ? range(chance(riskAt(time, sure[0])), chance(riskAt(time, sure[1]))) + "; " : "") + `cohort ${chance(1 - cohortAt(time))}`))));
    facts.append(fact("hazard ratio", shownScore(S.score[i]), make("small", {}, "against the cohort's mean")));
    facts.append(fact("observed", observedTime(i)));
  } else {
    facts.append(fact("prediction", shownScore(S.score[i]), make("small", {}, sure ? range(shownScore(sure[0]), shownScore(sure[1])) : "")));
    facts.append(fact("observed", num(S.observed[i], 4)));
  }
  if (D.groups.length > 1) facts.append(fact("subgroup", `group ${S.group[i] + 1}`, make("small", {}, `of ${D.groups.length}; uses ${count(S.n_open[i], "feature")}`)));
  const given = v => v === null ? "missing" : typeof v === "string" ? v : num(v, 4);
  if (S.context) facts.append(fact("given", join(S.context.map((values, j) => nameOf(`${M.context[j]} ${given(values[i])}`))),
    make("small", {}, `which features are used depends on ${M.context.length > S.context.length ? "this and more columns" : "this only"}`)));
  return facts;
}
function cohortShare(k) { return S.observed.filter(o => o === k).length / S.observed.length; }
function cohortAt(time) {
  const c = T.cohort; let k = 0;
  while (k + 1 < c.times.length && c.times[k + 1] <= time * (1 + 1e-6)) k++;
  return c.survival[k];
}
function sampleCurve(i) {
  const { times, cumulative } = T.hazard, sure = S.spread && S.spread[i], at = score => cumulative.map(h => Math.exp(-h * Math.exp(score)));
  const own = { name: "this sample", times, survival: at(S.score[i]) };
  if (sure) { own.lower = at(sure[1]); own.upper = at(sure[0]); }
  return make("figure", { id: "sample-curve" }, survivalChart([own, { ...T.cohort, name: "the cohort" }], { ticks: T.cohort.ticks, colours: ["var(--up)", "var(--soft)"], dashes: [null, "6 3"], describe: "Predicted survival of this sample beside the cohort" }),
    make("figcaption", {}, `Predicted survival of this sample${sure ? `, with the range of ${M.n_members} members,` : ""} beside the observed survival of the cohort (Kaplan-Meier, 95\u202f% band; ${inUnit(T.cohort.median)}).`));
}
function reasonsOf(i) {
  const E = S.entries, from = S.starts[i], to = S.starts[i + 1], k = isMany ? likeliest(i) : 0;
  const sizes = E.contribution.slice(from, to).map(Math.abs), largest = Math.max(1e-12, Math.abs(S.others[i]), ...sizes);
  const head = isTwo ? `what it does to the odds of ${M.event_words}` : T ? "what it does to the hazard" : isRatio ? "what it does to the rate" : isMany ? `adds to the score of ${M.classes[k]}` : `adds to ${M.scale_words}`;
  const titles = ["value", "among all samples", head];
  const sum = (title, text) => make("tr", { class: "sum" }, make("th", { scope: "row" }, title), make("td", { class: "value" }), make("td", { class: "strip" }), make("td", { class: "adds" }, text));
  const line = e => make("tr", {}, make("th", { scope: "row" }, nameOf(F.name[E.feature[e]]), E.confidence && E.confidence[e] < 0.995 ? make("span", { class: "small" }, ` · ${percent(E.confidence[e])} of members`) : null),
    make("td", { class: "value", "data-label": titles[0] }, nameOf(entryValue(e))), make("td", { class: "strip", "data-label": titles[1] }, strip(e)),
    make("td", { class: "adds", "data-label": titles[2] }, addBar(E.contribution[e], largest), make("span", { class: "amount" }, addText(E.contribution[e], largest))));
  const total = score => isTwo ? `${chance(1 / (1 + Math.exp(-score)))} ` : T ? `${factor(score - meanScore)} × the cohort's mean` : isRatio ? num(Math.exp(score), 4) : isMany && score === S.score[i] ? `${beside(score, largest, 3)} (probability ${chance(S.probabilities[i][k])})` : beside(score, Math.max(Math.abs(S.baseline[k]), largest), 3);
  const body = make("tbody", {}, sum("no feature used", total(S.baseline[k])));
  const shown = countShown(sizes), nFolded = S.n_open[i] - shown;
  for (let e = from; e < from + shown; e++) body.append(line(e));
  if (nFolded > 0) {
    const rest = E.contribution.slice(from + shown, to).reduce((a, b) => a + b, S.others[i]);
    const more = to > from + shown ? make("button", { class: "plain screen", type: "button", "aria-label": `Show ${count(to - from - shown, "more feature")}`, onclick: () => { const lines = [...Array(to - from - shown).keys()].map(j => line(from + shown + j)); row.replaceWith(...lines, ...(S.n_open[i] > to - from ? [others] : [])); lines[0].querySelector("th").focus(); } }, "show") : null;
    const make2 = (number, value, button) => make("tr", { class: "folded" }, make("th", { scope: "row" }, `${count(number, "further feature")}, together `, button), make("td", { class: "value" }), make("td", { class: "strip" }),
      make("td", { class: "adds", "data-label": titles[2] }, addBar(value, largest), make("span", { class: "amount" }, addText(value, largest))));
    const others = make2(S.n_open[i] - (to - from), S.others[i], null), row = make2(nFolded, rest, more);
    body.append(row);
  }
  body.append(sum("all together", total(S.score[i])));
  return make("div", { class: "wide" }, make("table", { class: "entries stacks" }, make("thead", {}, make("tr", {}, ["feature", ...titles].map(t => make("th", { scope: "col" }, t)))), body));
}

function buildSample(box) {
  const n = S.name.length, lower = S.name.map(name => name.toLowerCase());
  box.append(make("p", { class: "screen" }, "Why a sample got its prediction. Type a part of its name, choose with the arrow keys, and press Enter." + (M.n_given > n ? ` The file holds ${n.toLocaleString("en")} of ${M.n_given.toLocaleString("en")} samples.` : "")));
  const input = make("input", { type: "search", id: "sample-search", role: "combobox", "aria-expanded": "false", "aria-controls": "sample-list", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", placeholder: "name of a sample", "aria-label": "Name of a sample" });
  const list = make("ul", { id: "sample-list", role: "listbox", hidden: true, "aria-label": "Samples" });
  const sheet = make("div", { class: "sheet", id: "sheet", tabindex: -1, "aria-live": "polite" });
  let current = 0, found = [], active = -1;
  const step = by => open((current + by + n) % n);
  const button = (text, act) => make("button", { class: "plain", type: "button", onclick: act }, text);
  box.append(make("div", { class: "tools" }, make("div", { class: "combo" }, input, list), button("previous", () => step(-1)), button("next", () => step(1)), button("print this page", printSheet)), sheet);
  function suggest() {
    const wanted = input.value.trim().toLowerCase();
    found = [];
    const rank = i => lower[i] === wanted ? 0 : lower[i].startsWith(wanted) ? 1 : 2;
    for (let i = 0; i < n; i++) if (lower[i].includes(wanted)) found.push(i);
    found.sort((a, b) => rank(a) - rank(b) || a - b); found = found.slice(0, 12);
    active = found.length && wanted ? 0 : -1;
    list.replaceChildren(...(found.length ? found.map((i, k) => make("li", { role: "option", id: "option-" + k, "aria-selected": k === active, onmousedown: e => { e.preventDefault(); choose(i); } },
      nameOf(S.name[i]), make("span", { class: "small" }, " " + headline(i)))) : [make("li", { role: "option", "aria-disabled": "true", "aria-selected": "false" }, "No sample has this name.")]));
    mark(); expand(true);
  }
  function mark() {
    [...list.children].forEach((li, k) => li.setAttribute("aria-selected", k === active));
    if (active >= 0) { input.setAttribute("aria-activedescendant", "option-" + active); list.children[active].scrollIntoView({ block: "nearest" }); }
    else input.removeAttribute("aria-activedescendant");
  }
  function expand(yes) { list.hidden = !yes; input.setAttribute("aria-expanded", String(yes)); }
  function choose(i) { expand(false); input.value = S.name[i]; open(i); }
  input.addEventListener("input", suggest);
  input.addEventListener("focus", () => { input.select(); });
  input.addEventListener("blur", () => expand(false));
  input.addEventListener("keydown", e => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      if (list.hidden) suggest(); else active = Math.max(0, Math.min(found.length - 1, active + (e.key === "ArrowDown" ? 1 : -1)));
      mark(); e.preventDefault();
    } else if (e.key === "Enter") { if (active >= 0 && !list.hidden && found.length) choose(found[active]); e.preventDefault(); }
    else if (e.key === "Escape") expand(false);
  });
  function open(i, moves) {
    current = i;
    const none = S.n_open[i] === 0;
    sheet.replaceChildren(...[p(S.held_out[i] ? "Sample, not seen by the model in the fit" : "Sample the model learned from", "label"), make("h3", { id: "sample-name" }, nameOf(S.name[i])),
      p(`${D.title}. ${M.name}, lspin ${D.again.versions.lspin || ""}, ${D.again.date}.`, "small onlyprint"), factsOf(i), T ? sampleCurve(i) : null, reasonsOf(i),
      p(none ? "No feature is used for this sample: it gets the prediction of the first row." : reading(), "small")].filter(Boolean));
    redrawAll();
    try { history.replaceState(null, "", "#sample=" + encodeURIComponent(S.name[i])); } catch { /* a name that is no text, or a page that may not */ }
    if (moves) { input.value = S.name[i]; el("sample").scrollIntoView(); sheet.focus({ preventScroll: true }); }
  }
  function reading() {
    const line = "A line is the cohort in the order of its values, lowest to the left; its thick part is the middle half, the dot this sample.";
    const bars = isTwo ? `Orange bars speak for ${M.event_words}, blue ones against; the factors of the odds multiply.` : T ? "Orange bars raise the risk, blue ones lower it; the factors of the hazard multiply." : isRatio ? "Orange bars raise the rate, blue ones lower it; factors multiply." : isMany ? "Orange bars add to the score, blue ones subtract. Each class has a score; the highest one is predicted." : "Orange bars add, blue ones subtract.";
    return `${bars} ${line}`;
  }
  function printSheet() {
    document.documentElement.classList.add("printing-sample");
    window.print();
  }
  window.addEventListener("afterprint", () => document.documentElement.classList.remove("printing-sample"));
  openSample = open;
  let start = D.headline.example ?? Math.max(0, S.held_out.indexOf(1));
  const asked = /^#sample=(.*)$/.exec(location.hash);
  if (asked) { try { const i = S.name.indexOf(decodeURIComponent(asked[1])); if (i >= 0) start = i; } catch { /* no name */ } }
  const hash = location.hash;
  open(start);
  if (!asked) try { history.replaceState(null, "", hash || location.pathname + location.search); } catch { /* as it is */ }
}
if (!D.shows_samples) leaveOut("sample");
else buildSample(el("sample"));
