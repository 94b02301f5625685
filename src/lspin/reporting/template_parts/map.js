// The cohort map: which features each sample uses. Left out where all samples use the same ones.
if (!D.shows_samples || !D.map || !F.name.length) leaveOut("cohort");
else drawMap(el("cohort"));

function drawMap(box) {
  const rows = D.map.samples, cols = D.map.features, nRows = rows.length, nCols = cols.length;
  const placeOf = new Map(cols.map((f, i) => [f, i]));
  const cells = rows.map(s => {
    const line = new Map();
    for (let e = S.starts[s]; e < S.starts[s + 1]; e++) { const at = placeOf.get(S.entries.feature[e]); if (at !== undefined) line.set(at, e); }
    return line;
  });
  const largest = Math.max(1e-12, ...S.entries.contribution.map(Math.abs).sort((a, b) => a - b).slice(Math.floor(0.98 * S.entries.contribution.length)).slice(0, 1));
  let first = 0, last = nRows, at = null, mode = "gate";
  const canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": "Gate map. Arrow keys move from cell to cell, plus and minus zoom, 0 shows all, Enter opens the sample.", "aria-describedby": "map-readout" });
  const readout = make("p", { class: "readout screen", id: "map-readout", "aria-live": "polite" }, "");
  const idle = "A row is a sample, a column a feature. Point at a cell, or move with the arrow keys.";
  readout.textContent = idle;
  const pick = make("select", { "aria-label": "What colours show", onchange: e => { mode = e.target.value; draw(); } },
    make("option", { value: "gate" }, "colour: how far the gate is open"), make("option", { value: "contribution" }, "colour: what the feature adds (orange raises, blue lowers)"));
  const button = (text, label, act) => make("button", { class: "plain", type: "button", "aria-label": label, onclick: act }, text);
  const omitted = F.name.length > nCols ? ` The ${nCols} most important of ${F.name.length} features are shown.` : "";
  const cut = S.n_open.some((n, s) => n > S.starts[s + 1] - S.starts[s]) ? " Of samples with very many features only the strongest are drawn." : "";
  box.append(p(`Each row is a sample, each column a feature, coloured where the gate is open: there the prediction uses the feature. Samples of a group stand together.${omitted}${cut}`));
  box.append(make("div", { class: "tools" }, button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)), button("whole", "Show all samples", () => zoom(Infinity)), pick,
    make("span", { class: "small screen" }, "Click the map, then the wheel zooms; Enter or a double click opens a sample.")));
  const holder = make("div", { class: "mapbox" }, canvas);
  box.append(holder, readout);
  const size = { left: 84, top: 110, width: 0, height: 0, cell: 0 };
  function style(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function draw() {
    const room = Math.max(holder.clientWidth, 280), ratio = window.devicePixelRatio || 1;
    size.left = D.groups.length > 1 ? 84 : 14;
    size.cell = Math.max(15, Math.min(90, (room - size.left - 10) / nCols));
    const longest = Math.max(...cols.map(f => Math.min([...F.name[f]].length, 22)));
    size.top = Math.max(40, 7.2 * longest + 14);
    size.width = size.left + nCols * size.cell + 10;
    size.height = size.top + Math.max(160, Math.min(460, nRows * 14)) + 8;
    canvas.width = size.width * ratio; canvas.height = size.height * ratio;
    canvas.style.width = size.width + "px"; canvas.style.height = size.height + "px";
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    const ink = style("--ink"), soft = style("--soft"), line = style("--line"), rgb = style("--gate"), up = style("--up"), down = style("--down");
    g.fillStyle = style("--paper"); g.fillRect(0, 0, size.width, size.height);
    g.font = "12px " + getComputedStyle(document.querySelector(".small")).fontFamily;
    g.textBaseline = "middle";
    cols.forEach((f, i) => {
      g.save(); g.translate(size.left + (i + 0.5) * size.cell, size.top - 6); g.rotate(-Math.PI / 2);
      g.fillStyle = at && at.col === i ? ink : soft;
      const letters = [...F.name[f]];
      g.fillText(letters.length > 22 ? letters.slice(0, 12).join("") + "…" + letters.slice(-9).join("") : F.name[f], 0, 0); g.restore();
    });
    const high = size.height - size.top - 8, step = high / (last - first);
    g.fillStyle = style("--faint"); g.globalAlpha = 0.45; g.fillRect(size.left, size.top, nCols * size.cell, high); g.globalAlpha = 1;
    for (let r = first; r < last; r++) {
      const y0 = Math.floor(size.top + (r - first) * step), tall = Math.max(Math.floor(size.top + (r + 1 - first) * step) - y0 - (step > 6 ? 1 : 0), 1);
      for (const [col, e] of cells[r]) {
        if (mode === "gate") g.fillStyle = `rgba(${rgb}, ${0.25 + 0.75 * S.entries.gate[e]})`;
        else { const c = S.entries.contribution[e]; g.globalAlpha = 0.2 + 0.8 * Math.min(1, Math.abs(c) / largest); g.fillStyle = c > 0 ? up : down; }
        g.fillRect(size.left + col * size.cell + 0.5, y0, size.cell - 1, tall); g.globalAlpha = 1;
      }
    }
    if (D.groups.length > 1) {
      let from = first;
      while (from < last) {
        const group = S.group[rows[from]]; let to = from; while (to < last && S.group[rows[to]] === group) to++;
        const y0 = size.top + (from - first) * step, y1 = size.top + (to - first) * step;
        g.fillStyle = MARKS[group % 8]; g.fillRect(size.left - 9, y0, 5, Math.max(y1 - y0 - 1, 1));
        if (y1 - y0 > 13) { g.fillStyle = soft; g.textAlign = "right"; g.fillText("group " + (group + 1), size.left - 16, (y0 + y1) / 2); g.textAlign = "left"; }
        from = to;
      }
    }
    g.strokeStyle = line; g.strokeRect(size.left, size.top, nCols * size.cell, high);
    if (at && at.row >= first && at.row < last) {
      g.strokeStyle = ink; g.lineWidth = 2;
      g.strokeRect(size.left + at.col * size.cell, size.top + (at.row - first) * step - 1, size.cell, Math.max(step, 4) + 1); g.lineWidth = 1;
    }
  }
  function tell() {
    if (!at) { readout.textContent = idle; return; }
    const s = rows[at.row], f = cols[at.col], e = cells[at.row].get(at.col);
    const parts = [nameOf(S.name[s]), D.groups.length > 1 ? ` (group ${S.group[s] + 1})` : "", " · ", nameOf(F.name[f])];
    if (e === undefined) parts.push(": gate shut");
    else parts.push(" = ", nameOf(entryValue(e)), `: gate ${fixed(S.entries.gate[e], 2)}, adds ${signed(S.entries.contribution[e], largest)}`);
    readout.replaceChildren(...parts.filter(Boolean));
  }
  function zoom(factor, centre) {
    const span = Math.min(nRows, Math.max(Math.min(8, nRows), Math.round((last - first) * factor)));
    const middle = centre === undefined ? (at ? at.row + 0.5 : (first + last) / 2) : centre;
    const share = (middle - first) / (last - first || 1);
    first = Math.round(Math.max(0, Math.min(nRows - span, middle - share * span))); last = first + span;
    if (at && (at.row < first || at.row >= last)) { first = Math.max(0, Math.min(nRows - span, at.row - Math.floor(span / 2))); last = first + span; }
    draw();
  }
  function find(event) {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const col = Math.floor((x - size.left) / size.cell), row = first + Math.floor((y - size.top) / (size.height - size.top - 8) * (last - first));
    return col >= 0 && col < nCols && row >= first && row < last && y >= size.top ? { row, col } : null;
  }
  canvas.addEventListener("mousemove", e => { const found = find(e); if (found) { at = found; tell(); draw(); } });
  canvas.addEventListener("click", e => { const found = find(e); if (found) { at = found; tell(); draw(); } });
  canvas.addEventListener("dblclick", e => { const found = find(e); if (found) openSample(rows[found.row], true); });
  // Without the focus the wheel scrolls the page, as everywhere else.
  canvas.addEventListener("wheel", e => {
    if (document.activeElement !== canvas && !e.ctrlKey) return;
    e.preventDefault(); const found = find(e); zoom(e.deltaY > 0 ? 1.25 : 0.8, found ? found.row + 0.5 : undefined);
  }, { passive: false });
  canvas.addEventListener("focus", () => { if (!at) { at = { row: first, col: 0 }; tell(); draw(); } });
  canvas.addEventListener("keydown", e => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-20, 0], PageDown: [20, 0] };
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (moves[e.key]) {
      at = at || { row: first, col: 0 };
      at = { row: Math.max(0, Math.min(nRows - 1, at.row + moves[e.key][0])), col: Math.max(0, Math.min(nCols - 1, at.col + moves[e.key][1])) };
      const span = last - first;
      if (at.row < first) { first = at.row; last = first + span; } else if (at.row >= last) { last = at.row + 1; first = last - span; }
    } else if (e.key === "+" || e.key === "=") zoom(0.5);
    else if (e.key === "-") zoom(2);
    else if (e.key === "0") zoom(Infinity);
    else if (e.key === "Enter" && at) { openSample(rows[at.row], true); e.preventDefault(); return; }
    else return;
    e.preventDefault(); tell(); draw();
  });
  redraws.push(draw);
  for (const media of ["(prefers-color-scheme: dark)", "print"]) window.matchMedia(media).addEventListener("change", draw);
  draw();
}
