// All features that some sample uses: how strong, how often, which way, and in which subgroups.
{
  const box = el("features"), n = F.name.length, several = D.groups.length > 1;
  const members = M.n_members > 1 ? ` The model is the mean of ${M.n_members} members; a feature counts for a sample if at least half of them use it, and the table lists those that any of them uses.` : "";
  const tried = D.again.contest.some(c => c[0] === "groups" && c[1] !== null);
  const oneRule = M.start === "groups" && !several && tried ? " On held-out rows, no division into subgroups was clearly better." : "";
  const panel = M.panel === null ? "" : ` All samples together need ${count(M.panel, "column")}, those that gates look at included.`;
  const others = M.context.length - 12;
  const context = M.context.length ? ` Which features a sample uses depends on ${M.context.slice(0, 12).join(", ")}${others > 0 ? ` and ${others} more` : ""} only` +
    (M.context_only ? ", which the prediction itself does not use." : ".") : "";
  const scale = isTwo ? `the log-odds of ${M.event_words}` : isMany ? "the scores of the classes" : M.scale_words;
  box.append(p(n ? `For each sample the model chooses a few features and ignores all others. ${howMany}${oneRule}${panel}${context}${members}`
    : `No feature helps on held-out rows: the model uses none, and predicts the same for every sample.${context}${members}`));
  if (n) box.append(p(`Importance is the mean size of what a feature adds to ${scale}, over all samples; it adds nothing where it is not used.`, "small"));
  if (!D.shows_samples && n < M.n_selected) box.append(p(`Features that fewer than five samples use are left out, ${M.n_selected - n} in all.`, "small"));
  if (n) featureTable(box, several);
}
function featureTable(box, several) {
  const n = F.name.length, most = Math.max(...F.importance);
  const columns = [
    { key: "name", title: "feature", sort: i => F.name[i].toLowerCase(), first: "ascending" },
    { key: "importance", title: "importance", sort: i => F.importance[i] },
    { key: "share", title: "samples that use it", sort: i => F.share[i] },
    { key: "direction", title: "direction", sort: i => F.direction[i], first: "ascending" },
  ];
  if (M.n_members > 1) columns.push({ key: "confidence", title: "members that agree", sort: i => F.confidence[i] });
  if (several) columns.push({ key: "groups", title: `in groups ${D.groups.map((_, k) => k + 1).join(" ")}`, sort: i => Math.max(...F.groups.map(g => g[i] ?? 0)) });
  let order = [...F.name.keys()], sortedBy = "importance", way = "descending", shown = 15, wanted = "";
  const body = make("tbody"), note = p("", "small"), more = make("button", { class: "plain", type: "button", onclick: () => { shown += 50; draw(); } }, "Show 50 more");
  note.setAttribute("aria-live", "polite");
  const heads = columns.map(c => make("th", { scope: "col", "aria-sort": c.key === "importance" ? "descending" : "none" },
    make("button", { type: "button", onclick: () => sortBy(c) }, c.title)));
  function sortBy(c) {
    way = sortedBy === c.key ? (way === "ascending" ? "descending" : "ascending") : (c.first || "descending");
    sortedBy = c.key;
    const flip = way === "ascending" ? 1 : -1;
    order = [...F.name.keys()].sort((a, b) => { const u = c.sort(a), v = c.sort(b); return (u < v ? -1 : u > v ? 1 : 0) * flip || a - b; });
    heads.forEach((h, k) => h.setAttribute("aria-sort", columns[k].key === sortedBy ? way : "none"));
    draw();
  }
  function cell(c, i) {
    if (c.key === "name") return make("th", { scope: "row" }, nameOf(F.name[i]));
    if (c.key === "importance") return make("td", { "data-label": c.title }, make("span", { style: { display: "inline-block", width: "4.4em" } }, beside(F.importance[i], most, 3)),
      make("span", { class: "bar", style: { width: 6 * F.importance[i] / (most || 1) + "em" } }));
    if (c.key === "share") return make("td", { "data-label": c.title }, percent(F.share[i]));
    if (c.key === "direction") return make("td", { "data-label": c.title }, wayOf(F.direction[i], i));
    if (c.key === "confidence") return make("td", { "data-label": c.title }, percent(F.confidence[i]));
    return make("td", { "data-label": c.title }, make("span", { class: "cells" }, F.groups.map((shares, k) => make("span", { class: "cell", title: `group ${k + 1}`, style: { background: `rgba(var(--gate), ${0.45 * shares[i]})` } },
      shares[i] === null ? "–" : shares[i] ? percent(shares[i]).replace("\u202f%", "") : "·"))));
  }
  function draw() {
    const found = order.filter(i => F.name[i].toLowerCase().includes(wanted));
    body.replaceChildren(...found.slice(0, shown).map(i => make("tr", {}, columns.map(c => cell(c, i)))));
    note.textContent = found.length > shown ? `${shown} of ${found.length} features are shown.` : found.length ? "" : "No feature has this name.";
    more.hidden = found.length <= shown;
  }
  const filter = make("input", { type: "search", id: "feature-filter", placeholder: "find a feature", "aria-label": "Find a feature", oninput: e => { wanted = e.target.value.trim().toLowerCase(); draw(); } });
  if (n > 15) box.append(make("div", { class: "tools" }, filter));
  box.append(make("div", { class: "wide" }, make("table", { id: "feature-table", class: "stacks" }, make("thead", {}, make("tr", {}, heads)), body)), note, make("div", { class: "tools" }, more));
  if (several) box.append(p("«In groups»: the part of each subgroup that uses the feature, in percent." +
    (D.shows_samples ? "" : " – stands where fewer than five samples of a group use it, or all but fewer than five."), "small"));
  draw();
}
