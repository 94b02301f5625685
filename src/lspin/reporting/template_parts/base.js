// Content, elements and numbers. Names come from anywhere: all text is set as text, nothing is ever parsed as HTML.
const D = JSON.parse(document.getElementById("content").textContent);
const M = D.model, F = D.features, S = D.samples, T = D.survival;
const MARKS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#B8A800"];
const isTwo = M.classes.length === 2, isMany = M.classes.length > 2;
const eventPlace = isTwo ? M.classes.indexOf(M.event) : -1;
const el = id => document.getElementById(id);

function make(tag, attributes, ...children) {
  const svgTags = ["svg", "g", "line", "rect", "circle", "path", "text", "polyline", "polygon"];
  const node = svgTags.includes(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const nameOf = text => make("span", { class: "name" }, text);
// A name may hold signs that turn the direction of all text after it; in a sentence it is kept apart.
const turning = [D.target, ...M.classes, ...M.context, ...F.name, ...(S ? S.name : [])].filter(name => /[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/.test(name)).sort((a, b) => b.length - a.length);
const turningPattern = turning.length ? new RegExp("(" + [...new Set(turning)].map(name => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")") : null;
const sentence = text => turningPattern && typeof text === "string" ? text.split(turningPattern).map((part, k) => k % 2 ? nameOf(part) : part) : text;
const p = (text, className) => make("p", { class: className }, sentence(text));
const join = (items, between = ", ") => items.flatMap((item, i) => [i ? between : "", item]);

// Numbers: a minus that is one, no −0, no exponents that need a calculator.
const minus = text => text.replace(/^-(?=0(\.0*)?$)/, "").replace(/-/g, "\u2212");
const RAISED = { "-": "\u207b", 0: "\u2070", 1: "\u00b9", 2: "\u00b2", 3: "\u00b3", 4: "\u2074", 5: "\u2075", 6: "\u2076", 7: "\u2077", 8: "\u2078", 9: "\u2079" };
function num(x, digits = 3) {
  if (x === null || x === undefined) return "–";
  const size = Math.abs(x);
  if (x !== 0 && (size >= 1e7 || size < 1e-4)) {
    const [front, power] = x.toExponential(Math.max(digits - 1, 1)).split("e");
    return `${minus(String(Number(front)))} × 10${[...String(Number(power))].map(c => RAISED[c]).join("")}`;
  }
  return minus(size >= 10 ** digits ? x.toFixed(0) : String(Number(x.toPrecision(digits))));
}
const fixed = (x, places) => x === null || x === undefined ? "–" : minus(x.toFixed(places));
// A computed number beside others of some size: what is small against them is 0, not 3 × 10⁻¹⁷.
function beside(x, size, digits = 2) {
  const places = Math.max(0, Math.min(6, digits - 1 - Math.floor(Math.log10(size || 1))));
  return fixed(x, places);
}
const signed = (x, size) => { const text = beside(x, size); return /^\u2212|^[0.]*$/.test(text) ? text : "+" + text; };
function percent(x) {
  if (x === null || x === undefined) return "–";
  const full = 100 * x;
  const text = full === 0 ? "0" : full === 100 ? "100" : full > 99.9 ? "> 99.9" : full < 0.1 ? "< 0.1" : full >= 99 || full < 1 ? full.toFixed(1) : full.toFixed(0);
  return text + "\u202f%";
}
// A probability is never quite 1, whatever it is rounded to.
const chance = x => x > 0.999 ? "> 99.9\u202f%" : x < 0.001 ? "< 0.1\u202f%" : percent(x);
const ordinal = n => n + (n % 100 > 10 && n % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] || "th");
const count = (n, one, many) => n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");
// A factor of odds, hazards or rates.
function factor(log) {
  const x = Math.exp(log);
  if (x > 1000) return "> 1000";
  if (x < 0.001) return "< 0.001";
  return x >= 10 ? x.toFixed(0) : x >= 0.1 ? x.toFixed(2) : num(x, 2);
}
// Hazards have no natural unit: they are told as multiples of the cohort's (geometric) mean.
const meanScore = T ? T.mean : 0;
const isRatio = isTwo || M.exponential !== null;
const ratioWord = isTwo ? "odds" : M.exponential === "hazard ratio" ? "hazard" : "rate";

// How many features are used, in a sentence.
const total = M.n_features.toLocaleString("en");
const howMany = D.same_for_all ? (M.n_selected === M.n_features ? `All samples use ${M.n_features === 1 ? "the only feature" : `all ${total} features`}.` : `All samples use ${M.n_selected === 1 ? "one and the same" : `the same ${M.n_selected}`} of ${total} features.`)
  : `The median sample uses ${num(M.median)} of ${total} features; ${M.n_selected.toLocaleString("en")} ${M.n_selected === 1 ? "is" : "are"} used by at least one sample.`;

// What a value of a feature speaks for, in words.
const aim = isTwo ? nameOf.bind(null, M.event_words) : () => T ? "higher risk" : nameOf("higher " + D.target);
function wayOf(direction, feature) {
  const isBinary = F.binary[feature], level = F.leading && F.leading[feature];
  if (isMany) return [nameOf(isBinary ? direction.replace(/^high /, "yes ").replace(/^low /, "no ") : direction)];
  if (direction === "high raises") return [isBinary ? "yes" : "high", " \u2192 ", aim()];
  if (direction === "high lowers") return [isBinary ? "no" : "low", " \u2192 ", aim()];
  if (direction === "raises") return ["\u2192 ", aim()];
  if (direction === "lowers") return ["\u2192 not ", aim()];
  if (direction === "by level" && level) return [nameOf(level), " \u2192 ", aim()];
  return [{ mixed: "either way", "by level": "depends on the level" }[direction] || ""];
}
const shortWay = direction => ({ "high raises": "raises", "high lowers": "lowers", raises: "raises", lowers: "lowers", mixed: "either way", "by level": "by level" })[direction] || direction;

// Values as people write them: levels and yes or no in words, numbers with their unit.
function valueOf(feature, value) {
  if (value === null || value === undefined) return "missing";
  if (F.levels[feature]) return F.levels[feature][value];
  if (F.binary[feature]) return value === 1 ? "yes" : "no";
  const q = F.quantiles[feature], spread = q ? q[4] - q[0] : 0;
  return (Math.abs(value) < 1e-3 * spread ? beside(value, spread, 4) : num(value, 4)) + (F.unit[feature] ? "\u202f" + F.unit[feature] : "");
}
const entryValue = e => valueOf(S.entries.feature[e], S.entries.value[e]);

// Sections that have nothing to say are left out of the page and of its contents.
const sections = [["performance", "Performance"], ["features", "Features"], ["subgroups", "Subgroups"], ["cohort", "Cohort map"], ["sample", "One sample"], ["trust", "Trust"], ["again", "Reproduce"]];
function leaveOut(id) { el(id).hidden = true; }
