"""The HTML fragment of a proof, which notebooks show."""

from __future__ import annotations

from sdy.evidence.proof.outcome import Proof
from sdy.report.html.markup import MAX_ROWS, AxisColours, cards, fragment, table_block
from sdy.report.tables.fitted_table import fitted_table


def proof_html(proof: Proof) -> str:
    """Return the verdict of a proof, the lemmas that it used, and the ops where it does not follow."""
    tone = "good" if proof.is_proved else "bad"
    numbers = [(f"{proof.proved} of {proof.ops}", "ops have a relation to a global value", tone)]
    lemmas = fitted_table("lemmas", ("lemma", "uses"), ((name, str(count)) for name, count in proof.lemmas), right=(1,))
    blocks = [cards(numbers), table_block(lemmas, AxisColours())]
    return fragment(repr(proof), blocks, [each.message for each in proof.failures[:MAX_ROWS]])
