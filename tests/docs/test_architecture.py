"""The picture and the list of rooms in docs/architecture.md are those of the code. `pytest --update` writes them."""

from __future__ import annotations

import pytest
from support.architecture_page import IMAGE, PAGE, floors, main, picture, with_rooms


def test_the_page_has_all_packages_and_rooms(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("update"):
        main()
    assert PAGE.read_text() == with_rooms(PAGE.read_text()), "run `pytest --update` on this file"
    assert IMAGE.read_text() == picture(), "run `pytest --update` on this file"
    assert sum(map(len, floors())) > 20
