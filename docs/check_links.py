"""Check that every link within the built site leads somewhere: ``python docs/check_links.py docs/_build/html``."""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "main-content"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag points to, and what may point to it."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


@cache
def read(path: Path) -> Page:
    """A page, read once."""
    return Page(path.read_text(encoding="utf-8"))


def find_faults(folder: Path) -> list[str]:
    """Links that lead nowhere, and files that would be fetched from the network."""
    faults = []
    for path in sorted(folder.rglob("*.html")):
        if "_static" in path.parts:
            continue
        for link in read(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                faults.append(f"{path.relative_to(folder)}: {link} is not there")
            elif target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
                faults.append(f"{path.relative_to(folder)}: {link} has no such anchor")
    return faults


def find_fetched(folder: Path) -> list[str]:
    """Scripts, styles and pictures that a page would fetch from the network."""
    faults = []
    for path in sorted(folder.rglob("*.html")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if ("<script" in line or "<img" in line or 'rel="stylesheet"' in line) and (
                'src="http' in line or 'href="http' in line
            ):
                faults.append(f"{path.relative_to(folder)}: {line.strip()[:120]}")
    return faults


if __name__ == "__main__":
    site = Path(sys.argv[1])
    faults = find_faults(site) + find_fetched(site)
    print(
        "\n".join(faults) or f"{len(list(site.rglob('*.html')))} pages, every link within the site leads somewhere"
    )
    sys.exit(bool(faults))
