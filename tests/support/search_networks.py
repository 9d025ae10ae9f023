"""The cost network of all layouts of a program, as the search solves it."""

from __future__ import annotations

from sdy.cost.machines.table import HARDWARE
from sdy.search.layout_choices import OpLayoutChoices
from sdy.search.program_network import ProgramNetwork
from sdy.search.searched_module import SearchedModule
from sdy.search.transfer_costs import Objective, TransferCosts

MACHINE = HARDWARE["tpu_v5e"]


def network_of_all_layouts(searched: SearchedModule) -> ProgramNetwork:
    """Return the network of a program in which each op may have any layout."""
    digits = searched.graph.digits
    choices = OpLayoutChoices.all(tuple(range(len(digits.sizes))))
    transfers = TransferCosts(digits, MACHINE)
    return ProgramNetwork(searched.module, searched.graph, transfers, MACHINE, Objective(), choices)
