"""Minimize a cost network as an integer program with HiGHS.

A variable of the network has one column per label, which is 0 or 1; a table has one column per pair of labels, which
sums to the column of each label over the labels of the other variable. The linear relaxation, in which all columns may
be fractions, gives a lower bound that is often the minimum itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.partitioner.network.cost_network import CostNetwork

LARGEST_COST = 1e6  # all costs are scaled so that the largest one is this
FRACTION = 1e-6  # by which a column may differ from an integer
WAIT_SECONDS = 0.1  # after which an interrupt is noticed


@dataclass(frozen=True, slots=True)
class IntegerSolution:
    """Labels of some variables with their cost, and a lower bound of the minimum."""

    labels: dict[int, int]
    bound: float


@dataclass(frozen=True, slots=True)
class _Result:
    """Labels, which are the largest fractions of each variable unless the solution is integral."""

    solution: IntegerSolution
    is_integral: bool


def minimize(network: CostNetwork, variables: Sequence[int], seconds: float, gap: float) -> IntegerSolution | None:
    """Minimize the costs and tables of some variables, which have no tables with others.

    Stop after `seconds`, or if the cost exceeds the bound by at most the fraction `gap`. Return None if no assignment
    was found by then.
    Raises: SdyError SDY-T250 if HiGHS is not installed.
    """
    return _IntegerProgram(network, variables).solve(seconds, gap)


def _highspy() -> Any:
    try:
        return import_module("highspy")
    except ModuleNotFoundError as error:
        message = "this search needs the integer-program solver HiGHS, which is not installed"
        raise SdyError(Diagnostic("SDY-T250", message, hint="run: pip install 'sdy[search]'")) from error


def _silent_solver(highspy: Any) -> Any:
    """Return a solver that prints nothing.

    HiGHS prints its banner when the constructor enables callbacks, so the output is disabled before that.
    """

    def enable_callbacks(solver: Any) -> None:
        solver.setOptionValue("output_flag", False)
        highspy.Highs.enableCallbacks(solver)

    return type("SilentHighs", (highspy.Highs,), {"enableCallbacks": enable_callbacks})()


def _run_until_interrupt(solver: Any) -> None:
    """Run a solver in a thread, so that an interrupt (Ctrl-C) ends it. Raises: KeyboardInterrupt."""
    solver.HandleUserInterrupt = True
    solver.startSolve()
    try:
        while not solver.wait(WAIT_SECONDS)[0]:
            pass
    except KeyboardInterrupt:
        solver.cancelSolve()
        solver.wait()
        raise


class _IntegerProgram:
    """The columns and rows of the program."""

    def __init__(self, network: CostNetwork, variables: Sequence[int]) -> None:
        self._highspy = _highspy()
        self._network = network
        self._variables = variables
        self._costs: list[NDArray[np.float64]] = []
        self._rows: list[NDArray[np.intp]] = []
        self._columns: list[NDArray[np.intp]] = []
        self._values: list[NDArray[np.float64]] = []
        self._bounds: list[NDArray[np.float64]] = []  # each row equals its bound
        self._column_count = self._row_count = 0
        self._scale = 1.0
        self._first: dict[int, int] = {}
        for variable in variables:
            self._first[variable] = self._add_columns(network.costs[variable])
            labels = self._first[variable] + np.arange(len(network.costs[variable]))
            self._add_entries(self._add_rows(1, 1.0), labels, 1.0)
        self._label_count = self._column_count
        for first, second, table in network.pairs():
            self._add_table(first, second, table)

    def _add_columns(self, costs: NDArray[np.float64]) -> int:
        self._costs.append(costs)
        self._column_count += len(costs)
        return self._column_count - len(costs)

    def _add_rows(self, count: int, bound: float) -> NDArray[np.intp]:
        self._bounds.append(np.full(count, bound))
        self._row_count += count
        return np.arange(self._row_count - count, self._row_count)

    def _add_entries(self, rows: NDArray[np.intp], columns: NDArray[np.intp], value: float) -> None:
        self._rows.append(np.broadcast_to(rows, columns.shape))
        self._columns.append(columns)
        self._values.append(np.full(len(columns), value))

    def _add_table(self, first: int, second: int, table: NDArray[np.float64]) -> None:
        possible = np.isfinite(table)
        rows: NDArray[np.intp] = np.indices(table.shape)[0][possible]
        columns: NDArray[np.intp] = np.indices(table.shape)[1][possible]
        pairs = self._add_columns(table[possible]) + np.arange(len(rows))
        for variable, labels, count in ((first, rows, table.shape[0]), (second, columns, table.shape[1])):
            sums = self._add_rows(count, 0.0)
            self._add_entries(sums[labels], pairs, 1.0)
            self._add_entries(sums, np.arange(count, dtype=np.intp) + self._first[variable], -1.0)

    def solve(self, seconds: float, gap: float) -> IntegerSolution | None:
        """Solve the linear relaxation, and the integer program if the relaxation has fractions; see `minimize`."""
        costs = np.concatenate(self._costs)
        self._scale = LARGEST_COST / max(float(np.abs(costs).max(initial=0.0)), 1e-300)
        start = monotonic()
        relaxed = self._run(costs, seconds, gap, is_integer=False)
        if relaxed is None or relaxed.is_integral:
            return None if relaxed is None else relaxed.solution
        exact = self._run(costs, seconds - (monotonic() - start), gap, is_integer=True)
        return IntegerSolution(relaxed.solution.labels, relaxed.solution.bound) if exact is None else exact.solution

    def _run(self, costs: NDArray[np.float64], seconds: float, gap: float, *, is_integer: bool) -> _Result | None:
        solver = _silent_solver(self._highspy)
        for option, value in (("output_flag", False), ("time_limit", max(seconds, 1.0)), ("mip_rel_gap", gap)):
            solver.setOptionValue(option, value)
        solver.passModel(self._model(costs * self._scale, is_integer=is_integer))
        _run_until_interrupt(solver)
        info = solver.getInfo()
        if info.primal_solution_status != self._highspy.SolutionStatus.kSolutionStatusFeasible:
            return None
        values = np.array(solver.getSolution().col_value)
        chosen = {
            variable: values[start : start + len(self._network.costs[variable])]
            for variable, start in self._first.items()
        }
        labels = {variable: int(np.argmax(shares)) for variable, shares in chosen.items()}
        is_integral = all(float(shares.max()) > 1 - FRACTION for shares in chosen.values())
        # An interrupted run of the relaxation proves nothing.
        is_optimal = solver.getModelStatus() == self._highspy.HighsModelStatus.kOptimal
        proven = info.mip_dual_bound if is_integer else info.objective_function_value if is_optimal else -inf
        return _Result(IntegerSolution(labels, float(proven) / self._scale), is_integral)

    def _model(self, costs: NDArray[np.float64], *, is_integer: bool) -> Any:
        rows, columns = np.concatenate(self._rows), np.concatenate(self._columns)
        values = np.concatenate(self._values)
        order = np.argsort(columns, kind="stable")
        model = self._highspy.HighsLp()
        model.num_col_, model.num_row_ = self._column_count, self._row_count
        model.col_cost_ = costs
        model.col_lower_, model.col_upper_ = np.zeros(self._column_count), np.ones(self._column_count)
        model.row_lower_ = model.row_upper_ = np.concatenate(self._bounds)
        counts = np.bincount(columns, minlength=self._column_count)
        model.a_matrix_.format_ = self._highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(counts)])
        model.a_matrix_.index_, model.a_matrix_.value_ = rows[order], values[order]
        if is_integer:
            kinds = self._highspy.HighsVarType
            integer, real = self._label_count, self._column_count - self._label_count
            model.integrality_ = [kinds.kInteger] * integer + [kinds.kContinuous] * real
        return model
