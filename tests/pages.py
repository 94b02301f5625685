"""What a report holds, read from its file, and what is wrong with it in a window."""

import json
import re

WIDTHS = (1400, 800, 400)  # pixels of a window

# Elements that reach beyond the window, or beyond the box that scrolls them; the map of genes may scroll.
FIND_CUT = """() => [...document.querySelectorAll("main *")].filter(e => {
    const box = e.getBoundingClientRect(), holder = e.closest(".wide");
    const right = holder ? holder.getBoundingClientRect().right : innerWidth;
    return box.width && box.right > right + 1 && !e.closest(".mapbox, thead");
}).map(e => e.outerHTML.slice(0, 80))"""
ODD_NUMBERS = (r"\d[eE][-+−]?\d", r"[-−]0(\.0+)?(?![\d.])", "NaN", "undefined", "null", "Infinity")


def read_content(path):
    page = path.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)


def find_cut(window, width):
    """What reaches beyond a window of some width."""
    window.set_viewport_size({"width": width, "height": 900})
    # Until it is laid out anew.
    window.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    too_wide = window.evaluate("document.documentElement.scrollWidth") > width
    return [*(["the page"] if too_wide else []), *window.evaluate(FIND_CUT)]


def find_odd_numbers(text):
    """Numbers that need a calculator, minus zeros, and what is no number, with what stands around them."""
    text = re.sub(r"SHA-256\s+\S+", "", text)
    found = [match.span() for pattern in ODD_NUMBERS for match in re.finditer(pattern, text)]
    return [text[max(first - 20, 0) : last + 10] for first, last in found]
