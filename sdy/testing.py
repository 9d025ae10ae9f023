"""A pytest plugin: tests that a program keeps a contract.

    def test_training_step(sdy_expect):
        sdy_expect(sdy.from_jax(step, params, batch))

The contract is the file `contracts/NAME_OF_THE_TEST.toml` next to the test, unless another one is given;
`pytest --sdy-update` writes it as the program is now. `sdy_expect_same` compares a program with another one:

    def test_ring_attention(sdy_expect_same):
        sdy_expect_same(attention, ring_attention, q, k, v, gradients=True)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from sdy.program.program import Program

Expect = Callable[..., None]
ExpectSame = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--sdy-update`."""
    parser.getgroup("sdy").addoption(
        "--sdy-update", action="store_true", help="write the contracts of sdy_expect as the programs are now"
    )


@pytest.fixture
def sdy_expect(request: pytest.FixtureRequest) -> Expect:
    """Return a function that fails the test if a program breaks a contract.

    Its arguments are the program, the path of the contract relative to the test file, and `on`, the machine of the
    predicted time when the contract is written.
    """
    folder = request.path.parent
    name = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")

    def expect(program: Program[object], contract: str | Path | None = None, *, on: str | None = None) -> None:
        path = folder / (f"contracts/{name}.toml" if contract is None else contract)
        if request.config.getoption("--sdy-update"):
            _write(program, path, on)
        elif not path.exists():
            pytest.fail(f"{path} does not exist; write it with pytest --sdy-update", pytrace=False)
        else:
            _check(program, path)

    return expect


@pytest.fixture
def sdy_expect_same() -> ExpectSame:
    """Return a function with the arguments of `sdy.same_function` that fails unless both compute the same function."""

    def expect(*args: object, gradients: bool = False, seed: int = 0) -> None:
        # Imported here, because pytest imports this module in every run.
        from sdy.diagnostics.diagnostic import SdyError
        from sdy.evidence.runs.verification import Verdict, difference_text
        from sdy.program.same_function import same_function

        try:
            found = same_function(*cast("tuple[Any, Any]", args), gradients=gradients, seed=seed)
        except SdyError as error:
            pytest.fail(str(error), pytrace=False)
        if found.verdict is not Verdict.SAME:
            pytest.fail(difference_text(found.verification), pytrace=False)

    return expect


def _write(program: Program[object], path: Path, machine: str | None) -> None:
    # Imported here, because pytest imports this module in every run.
    from sdy.advice.contract import contract_of
    from sdy.advice.contract_file import write_contract
    from sdy.cost.machines.table import DEFAULT_MACHINE

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        write_contract(contract_of(program.partition_summary(machine or DEFAULT_MACHINE))), encoding="utf-8"
    )


def _check(program: Program[object], path: Path) -> None:
    from sdy.diagnostics.diagnostic import SdyError

    try:
        program.expect(path)
    except SdyError as error:
        pytest.fail(f"the program does not keep {path}; accept it with pytest --sdy-update\n{error}", pytrace=False)
