"""Hooks of MkDocs: the first page is the README, the reference is generated, and all pages are written for GitHub too.

So some links and lists need another form on the site: links to the site become links between its pages, which MkDocs
checks, and links to other files become links to the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

from mkdocs.structure.files import File

from sdy.tools.make_reference import PAGES

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()((?:\.\./)+[^)#\s]+)(#[^)]*)?(\))")
README_LINK = re.compile(
    r"\]\((?:https://raw\.githubusercontent\.com/sdy-dev/sdy/main/)?(?!https?:|#)([^)#\s]+)(#[^)]*)?\)"
)
NOTEBOOK_LINK = re.compile(r'href="((?!https?:)[^"#]+\.md)(#[^"]*)?"')
LIST_ITEM = re.compile(r"(\s*)(?:[*-]|\d+\.) ")
SITE_LINK = re.compile(r"\]\(https://sdy-dev\.github\.io/sdy/(reference/[\w-]+)/(#[^)]*)?\)")
# Requests to other hosts: the stars of the repository, and a library for diagrams, of which the notebooks have none.
SOURCE_FACTS = ' data-md-component="source"'
OTHER_SCRIPT = re.compile(r'<script type="module">(?:(?!</script>).)*?https://cdnjs.*?</script>', re.DOTALL)
FENCE = re.compile(r"\s*(```|~~~)")


def on_files(files: Any, config: Any, **_: object) -> Any:
    """Return the files of the site with the generated pages among them."""
    files.append(File.generated(config, "index.md", content=_first_page(config.repo_url)))
    for name in PAGES:
        files.append(File.generated(config, f"reference/{name}", content=_reference_page(name)))
    return files


@cache  # `mkdocs serve` builds the site again at each change of a page
def _reference_page(name: str) -> str:
    return PAGES[name]()


def on_page_markdown(markdown: str, page: Any, config: Any, **_: object) -> str:
    """Return the text of a page with links to files outside docs/ as links to the repository.

    The search does not find the specification, which has most words of most pages.
    """
    if page.file.src_uri.startswith("spec/"):
        page.meta["search"] = {"exclude": True}
    folder = PurePosixPath("docs") / PurePosixPath(page.file.src_uri).parent
    base = f"{config.repo_url.rstrip('/')}/blob/main/"

    def replaced(link: re.Match[str]) -> str:
        target = (ROOT / folder / link[2]).resolve().relative_to(ROOT)
        if target.parts[0] == "docs":
            return link[0]
        return f"{link[1]}{base}{target.as_posix()}{link[3] or ''}{link[4]}"

    up = "../" * (len(folder.parts) - 1)
    inside = SITE_LINK.sub(lambda link: f"]({up}{link[1]}.md{link[2] or ''})", LINK.sub(replaced, markdown))
    return "\n".join(_with_separate_lists(inside.split("\n")))


def on_page_content(html: str, page: Any, files: Any, **_: object) -> str:
    """Return the HTML of a notebook with links to Markdown pages as links to their HTML, which MkDocs does elsewhere.

    Raises: ValueError if a link leads to no page.
    """
    if not page.file.src_uri.endswith(".ipynb"):
        return html

    def replaced(link: re.Match[str]) -> str:
        target = normpath((PurePosixPath(page.file.src_uri).parent / link[1]).as_posix())
        file = files.get_file_from_path(target)
        if file is None:
            raise ValueError(f"{page.file.src_uri}: no page {target}")
        return f'href="{file.url_relative_to(page.file)}{link[2] or ""}"'

    return NOTEBOOK_LINK.sub(replaced, html)


def on_post_page(output: str, **_: object) -> str:
    """Return the HTML of a page without what asks other hosts."""
    return OTHER_SCRIPT.sub("", output.replace(SOURCE_FACTS, ""))


def on_post_template(output_content: str, **_: object) -> str:
    """Return a page that is not made from Markdown, as 404.html, without what asks other hosts."""
    return output_content.replace(SOURCE_FACTS, "")


def _first_page(repository: str) -> str:
    """Return the README with links to pages and pictures as links within the site, others to the repository."""

    def replaced(link: re.Match[str]) -> str:
        path = ROOT / link[1]
        if link[1].startswith("docs/") and path.is_file():
            return f"]({link[1].removeprefix('docs/')}{link[2] or ''})"
        return f"]({repository.rstrip('/')}/{'tree' if path.is_dir() else 'blob'}/main/{link[1]}{link[2] or ''})"

    return README_LINK.sub(replaced, (ROOT / "README.md").read_text(encoding="utf-8"))


def _with_separate_lists(lines: list[str]) -> Iterator[str]:
    """Yield the lines with an empty line before each list, as Python-Markdown requires."""
    is_code, previous = False, ""
    for line in lines:
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code and LIST_ITEM.match(line) and previous.strip() and not _is_in_list(previous):
            yield ""
        yield line
        previous = line


def _is_in_list(line: str) -> bool:
    """Return whether a line is an item of a list, or continues one."""
    return LIST_ITEM.match(line) is not None or line.startswith("  ")
