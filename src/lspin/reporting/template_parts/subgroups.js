// Subgroups: those that the model found, or samples that use the same features.
if (D.groups.length < 2) leaveOut("subgroups");
else subgroups(el("subgroups"));

function subgroups(box) {
  const grouped = M.start === "groups";
  const learned = M.n_held_out ? "" : " The model has learned from these samples, so what is predicted agrees better with what was observed than it will elsewhere.";
  box.append(p(grouped ? `The model divides the samples into ${D.groups.length} groups. Some features tell the groups apart, others count in them, with a rule for each group. To which group a sample belongs follows from its features, not from its outcome, and a missing value makes no group.${contestSaid()}${learned}`
    : `Samples are grouped by which features they use, not by their outcome; a feature that is not used because its value is missing makes no group. Listed are features that at least half of a group uses, the strongest first.${learned}`));
  if (!D.shows_samples) box.append(p("Groups of fewer than five samples are joined to one.", "small"));
  box.append(make("ul", { class: "groups", id: "groups" }, D.groups.map((g, k) => make("li", { style: { "--mark": MARKS[k % 8] } },
    p(`Group ${k + 1} · ${count(g.size, "sample")} · ${percent(g.share)}`, "label"),
    grouped ? foundOf(g) : make("p", {}, listed(g.features, 8, f => nameOf(F.name[f]), g.features.length) || "no feature in common"),
    outcomeOf(g)))));
  if (T && T.groups.length > 1) box.append(make("figure", { id: "group-curves" }, survivalChart(T.groups, { colours: MARKS, describe: "Survival by subgroup" }),
    make("figcaption", {}, "Observed survival (Kaplan-Meier) by subgroup, with 95\u202f% bands. ", medians(T.groups))));
  if (grouped && M.n_members > 1) box.append(make("details", {}, make("summary", {}, `How many of the ${M.n_members} members find each group and feature`), frequencies(),
    p("In brackets, Wilson's 95\u202f% intervals over the members, each of which learned from rows drawn anew. Groups of two members are the same if they share more than half of the samples that either has. All members look for groups by one rule, so the intervals do not include the choice of that rule.", "small")));
}
function listed(items, most, show, n) {
  if (!items.length) return null;
  const shown = items.slice(0, most);
  return shown.flatMap((item, i) => [i ? ", " : "", show(item)]).concat(n > shown.length ? [` and ${n - shown.length} more`] : []);
}
function contestSaid() {
  const at = name => D.again.contest.find(c => c[0] === name), own = at("groups"), one = at("one group"), trained = at("networks");
  if (!own || !own[4] || !one || one[1] === null) return "";
  return ` On the held-out rows that chose it, its loss is ${fixed(own[1], 3)}, and ${fixed(one[1], 3)} without groups: ${fixed(one[2], 3)} more, with a standard error of ${fixed(one[3], 3)}.` +
    (trained && trained[1] !== null ? ` Networks have ${fixed(trained[1], 3)}.` : "");
}
// Which values of a feature speak for a group: of yes and no, the answer.
function levelOf({ name, way }) {
  const isBinary = F.binary[F.name.indexOf(name)];
  return way && isBinary ? [nameOf(name), way === "high" ? ": yes" : ": no"] : [way ? way + " " : "", nameOf(name)];
}
// The card of a group names what at least half of the members find; the table below has the rest.
function foundOf(g) {
  const items = list => list.name.map((name, i) => ({ name, way: list.direction[i], n: list.found[i][0] })).filter(item => 2 * item.n >= M.n_members);
  const share = item => M.n_members > 1 ? make("span", { class: "small" }, ` ${item.n}/${M.n_members}`) : null;
  const told = listed(items(g.told_by), 6, item => [...levelOf(item), share(item)], g.n_told_by);
  const counting = listed(items(g.counts), 8, item => [nameOf(item.name), item.way ? ` ${shortWay(item.way)}` : "", share(item)], g.n_counts);
  return [make("p", { class: "role" }, make("span", { class: "small" }, "told by"), told || "no feature that half of the members agree on"),
    make("p", { class: "role" }, make("span", { class: "small" }, "what counts in it"), counting || "no feature that half of the members agree on"),
    M.n_members > 1 ? p(`Found by ${g.found[0]} of ${M.n_members} members (${percent(g.found[2])}–${percent(g.found[3])}).`, "small") : null];
}
function frequencies() {
  const cells = (title, role, way, [n, , lower, upper]) => [make("th", { scope: "row" }, title, make("span", { class: "small" }, role && ` ${role}${way ? ", " + shortWay(way) : ""}`)),
    make("td", { class: "number", "data-label": "found by" }, `${n} of ${M.n_members}`, make("span", { class: "small" }, ` (${percent(lower)}–${percent(upper)})`))];
  const rows = D.groups.flatMap((g, k) => [make("tr", { class: "own" }, cells(`Group ${k + 1}`, "", "", g.found)),
    ...[["told_by", "tells the group"], ["counts", "counts in it"]].flatMap(([key, role]) => g[key].name.map((name, i) => make("tr", {}, cells(nameOf(name), role, g[key].direction[i], g[key].found[i]))))]);
  return make("div", { class: "wide" }, make("table", { id: "frequencies", class: "stacks" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "group or feature"), make("th", { scope: "col", class: "number" }, "members"))), make("tbody", {}, rows)));
}
function outcomeOf(g) {
  if (!g.predicted) return p("Too few samples to say more.", "small");
  if (T) return p(`hazard ratio ${factor(g.predicted[0] - meanScore)} against the cohort's mean; ${inUnit(g.said)}`, "small");
  if (!M.classes.length) return p(g.said, "small");
  const best = isTwo ? [eventPlace] : g.predicted.map((v, i) => [v, i]).sort((a, b) => b[0] - a[0]).slice(0, 2).map(a => a[1]);
  return make("p", { class: "small" }, best.flatMap((i, k) => [k ? "; " : "", nameOf(isTwo ? M.event_words : M.classes[i]), ` predicted ${percent(g.predicted[i])}, observed ${percent(g.observed[i])}`]));
}
