// How far to trust the model: calibration, data checks, mask check, members, samples with very many features.
{
  const box = el("trust"), U = D.trust, figures = make("div", { class: "figures" });
  if (U.calibration && U.calibration.bins.length) figures.append(make("figure", {}, make("h3", {}, "Calibration"), calibrationChart(U.calibration),
    make("figcaption", {}, "Held-out rows in bins of about equal size, with 95\u202f% intervals. On the dashed line, predicted equals observed. ", D.headline.calibration || "")));
  const tooFew = !U.n_suspicious && U.limit >= M.n_features; // for a sample to use very many of them
  if (F.name.length && U.histogram.count.filter(n => n).length > 1) figures.append(make("figure", {}, make("h3", {}, tooFew ? "Features per sample" : "Samples with very many features"), histogramChart(U.histogram, U.limit),
    make("figcaption", {}, tooFew ? `How many of the ${count(M.n_features, "feature")} samples use.` : [`More than ${num(U.limit, 3)} features would be suspicious: twice the median and far from the rest, a sign of overfitting. `,
      U.n_suspicious === null ? "Fewer than five samples use that many." : U.n_suspicious ? `${count(U.n_suspicious, "sample uses", "samples use")} that many` : "No sample uses that many.",
      U.suspicious && U.n_suspicious ? [": ", join(U.suspicious.map(s => make("a", { href: "#sample", onclick: e => { e.preventDefault(); openSample(s, true); } }, nameOf(S.name[s])))), U.n_suspicious > U.suspicious.length ? " …" : "."] : ""])));
  box.append(figures, make("h3", {}, "Data checks"));
  if (U.checks.findings.length) box.append(make("div", { class: "note", style: { "--mark": "var(--up)" } },
    make("ul", {}, U.checks.findings.map(text => make("li", {}, sentence(text[0].toUpperCase() + text.slice(1)))))));
  else box.append(p("No column predicts the target too well alone, none is missing or constant in one class only, and no duplicates, codes for missing values or misspelt levels were found."));
  if (U.checks.best) {
    const measure = U.checks.best[2], least = measure.startsWith("AUC") ? 0.5 : 0; // what chance gives
    const bar = score => make("span", { class: "bar", style: { width: 6 * (score - least) / (1 - least) + "em" } });
    box.append(make("div", { class: "wide" }, make("table", { id: "strongest-columns", class: "stacks" },
      make("thead", {}, make("tr", {}, ["best single columns", `${measure}, training rows`].map(t => make("th", { scope: "col" }, t)))),
      make("tbody", {}, U.checks.strongest.map(([name, score]) => make("tr", {}, make("th", { scope: "row" }, nameOf(name)),
        make("td", { "data-label": measure }, make("span", { style: { display: "inline-block", width: "3.6em" } }, fixed(score, 3)), bar(score))))))),
      p(`How well each column predicts alone; ${fixed(least, 1)} is chance, 1 perfect. The checks cannot know what was recorded after the outcome; you can.`, "small"));
  }
  box.append(make("h3", {}, "Does the choice of features reveal the answer? (Mask check)"));
  if (U.audit.reason) box.append(p(U.audit.reason));
  else box.append(make("div", { class: "note", style: { "--mark": U.audit.leaks ? "var(--up)" : "var(--soft)" } }, p(U.audit.verdict.replace(/-(?=\d)/g, "\u2212")),
    p(`From ${U.audit.n_rows} rows. It is about which features are used, not about the data: a column that gives the answer away passes it. A mask leaks if knowing which features are used predicts the target beyond their values.`, "small")));
  if (T) box.append(make("h3", {}, "Proportional hazards"), make("p", { id: "hazards" }, T.proportionality.said));
  box.append(make("h3", {}, "Agreement of the members"));
  box.append(U.agreement ? p(U.agreement.mean === null ? "No member uses any feature." : `Of all uses of a feature, ${percent(U.agreement.all)} are common to all ${M.n_members} members and ${percent(U.agreement.half)} to at least half; on average ${percent(U.agreement.mean)} of the members use a feature that one of them uses. The table of features and the page of a sample show it for each feature.`)
    : p("This is a single model. Fit with n_members=10 and bootstrap=True to see how far the selections of several models agree."));
}
