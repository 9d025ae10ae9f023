"""The files around the package agree with each other: versions, URLs, news fragments, hooks and workflows."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sdy

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
REPOSITORY = PROJECT["project"]["urls"]["Repository"]
OWNER_AND_NAME = REPOSITORY.removeprefix("https://github.com/")
IMAGES = f"https://raw.githubusercontent.com/{OWNER_AND_NAME}/main/"
FRAGMENT = re.compile(r"[a-z0-9-]+\.(\w+)\.md")


def text_of(path: str) -> str:
    return (ROOT / path).read_text()


def test_the_version_is_written_once() -> None:
    version = PROJECT["project"]["version"]
    assert sdy.__version__ == version
    for path in (ROOT / "sdy").rglob("*.py"):
        assert f'"{version}"' not in path.read_text(), path
    assert "\nversion:" not in text_of("CITATION.cff")


def test_images_of_the_readme_are_shown_on_pypi() -> None:
    images = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text_of("README.md"))
    assert images
    for image in images:
        assert image.startswith(IMAGES)
        assert (ROOT / image.removeprefix(IMAGES)).is_file()


def test_links_to_the_repository_agree() -> None:
    hosts = r"https://(?:github\.com|raw\.githubusercontent\.com)/([\w-]+/sdy)\b"
    files = ["README.md", "CITATION.cff", "pyproject.toml", "mkdocs.yml", ".github/ISSUE_TEMPLATE/config.yml"]
    found = {name for path in files if (ROOT / path).exists() for name in re.findall(hosts, text_of(path))}
    assert found == {OWNER_AND_NAME}


def test_news_fragments_are_sentences_of_a_known_kind() -> None:
    kinds = {each["directory"] for each in PROJECT["tool"]["towncrier"]["type"]}
    for path in (ROOT / "changelog.d").glob("*.md"):
        if path.name == "README.md":
            continue
        name = FRAGMENT.fullmatch(path.name)
        assert name is not None, path.name
        assert name[1] in kinds, path.name
        assert path.read_text().strip().endswith("."), path.name


def test_hooks_are_local() -> None:
    assert re.findall(r"- repo: (\S+)", text_of(".pre-commit-config.yaml")) == ["local"]
    entries = re.findall(r"entry: (\S+)", text_of(".pre-commit-config.yaml"))
    assert set(entries) == {"ruff", "python", "lint-imports", "pyright"}


def test_ci_runs_every_version_of_python_that_is_supported() -> None:
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert f">={versions[0]}" == PROJECT["project"]["requires-python"]
    (matrix,) = re.findall(r"python: \[(.+)\]", text_of(".github/workflows/ci.yml"))
    assert matrix == ", ".join(f'"{version}"' for version in versions)


@pytest.mark.parametrize("workflow", ["ci.yml", "release.yml"])
def test_workflows_install_extras_and_run_targets_that_exist(workflow: str) -> None:
    text = text_of(f".github/workflows/{workflow}")
    extras = {name for names in re.findall(r"-e '\.\[(.+?)\]'", text) for name in names.split(",")}
    assert extras <= set(PROJECT["project"]["optional-dependencies"])
    targets = {target for line in re.findall(r"run: make (.+)", text) for target in line.split()}
    assert targets <= set(re.findall(r"^(\w+):", text_of("Makefile"), re.MULTILINE))


def test_publishing_needs_no_token() -> None:
    text = text_of(".github/workflows/release.yml")
    assert "id-token: write" in text
    assert "secrets." not in text
    assert "password" not in text


def test_towncrier_writes_a_section() -> None:
    pytest.importorskip("towncrier", reason="the extra `release` is not installed")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "## 9.9.9 (" in done.stdout
    assert re.search(r"^### (Added|Changed|Fixed)$", done.stdout, re.MULTILINE) or not any(
        FRAGMENT.fullmatch(path.name) for path in (ROOT / "changelog.d").glob("*.md")
    )
    assert "(#" not in done.stdout
