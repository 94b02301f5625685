// What is needed to fit the same model again.
function contestTable(contest) {
  if (!contest.length) return [];
  const rows = contest.map(([model, loss, behind, error, chosen]) => make("tr", { class: chosen ? "own" : null }, make("th", { scope: "row" }, model + (chosen ? " (chosen)" : "")),
    make("td", { class: "number", "data-label": "held-out loss" }, loss === null ? "not tried" : fixed(loss, 3)), make("td", { class: "number", "data-label": "behind the chosen one" }, loss === null || chosen ? "" : Math.max(Math.abs(behind), error) < 0.0005 ? "equal" : `${fixed(behind, 3)} ± ${fixed(error, 3)}`)));
  return [p("What competed on the same held-out rows: the loss of each, and how far it is behind the chosen one, with the standard error of the difference.", "small"),
    make("div", { class: "wide" }, make("table", { id: "contest", class: "stacks" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "model"), ["held-out loss", "behind the chosen one"].map(t => make("th", { scope: "col", class: "number" }, t)))), make("tbody", {}, rows)))];
}

{
  const box = el("again"), A = D.again;
  const list = (pairs, strong) => make("dl", { class: "plainlist" }, pairs.flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, strong && strong.includes(k) ? make("strong", {}, make("code", {}, v)) : make("code", {}, v))]));
  box.append(p(A.seed === null ? "The fit had no seed (random_state=None), so a new fit will differ in its details." : `The fit had the seed ${A.seed}; the rows set aside, the familiar models and the intervals of this page had ${A.report_seed}. With the same table, settings and versions, the same model comes out.`));
  const call = `${M.name}(${A.changed.map(k => `${k}=${A.settings[k]}`).join(", ")})`;
  box.append(make("p", {}, make("code", {}, call)));
  box.append(make("h3", {}, "Data"), list(A.fingerprints.flatMap(f => [[`${f.rows} table`, f.shape.join(" × ")], ["SHA-256", f.sha256]])),
    make("h3", {}, "Found in the fit"), list(Object.entries(A.learned)), ...contestTable(A.contest),
    make("h3", {}, "Versions"), list(Object.entries(A.versions)),
    make("details", {}, make("summary", {}, "All settings (those changed from the defaults in bold)"), list(Object.entries(A.settings), A.changed)));
}
el("contents").append(...sections.filter(([id]) => !el(id).hidden).map(([id, title]) => make("li", {}, make("a", { href: "#" + id }, title))));
redrawAll();
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => { d.open = true; }));
document.documentElement.dataset.ready = "yes";
