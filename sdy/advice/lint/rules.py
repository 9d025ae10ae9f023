"""The table of all rules: code, name, summary, and the function that finds candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sdy.advice.lint.conflicts import costly_conflicts, lost_axes, misplaced_axes, missing_priorities
from sdy.advice.lint.finding import Candidate
from sdy.advice.lint.linted_program import LintedProgram
from sdy.advice.lint.memory import (
    computed_in_full,
    idle_donations,
    replicated_boundary,
    replicated_states,
    uneven_dims,
    unused_axes,
)
from sdy.advice.lint.reshards import (
    gathered_then_sliced,
    idle_constraints,
    many_small_collectives,
    reduced_then_sliced,
    repeated_gathers,
    reshards_around_constraints,
    unchanged_in_loops,
)
from sdy.diagnostics.diagnostic import Diagnostic, SdyError

PREFIX = "SDY-"
ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: `find` yields candidates. A rule that is not a default runs only if it is selected."""

    code: str
    name: str
    summary: str
    find: Callable[[LintedProgram], Iterator[Candidate]]
    is_default: bool = True


RULES = (
    Rule(
        "SDY-S401",
        "replicated-tensor",
        "an argument or result is replicated along an axis that could shard it",
        replicated_boundary,
    ),
    Rule("SDY-S402", "unused-axis", "nothing is sharded along an axis of the mesh", unused_axes),
    Rule("SDY-S403", "repeated-gather", "an argument is gathered more than once", repeated_gathers),
    Rule("SDY-S404", "gather-then-slice", "the result of an all-gather is sliced again", gathered_then_sliced),
    Rule("SDY-S405", "all-reduce-then-slice", "the result of an all-reduce is sliced", reduced_then_sliced),
    Rule("SDY-S406", "unchanged-in-loop", "a loop reshards a value that is the same in every trip", unchanged_in_loops),
    Rule(
        "SDY-S407",
        "missing-priorities",
        "arguments propagate one axis to different dims, as weights of FSDP and the batch do",
        missing_priorities,
    ),
    Rule(
        "SDY-S408",
        "idle-constraint",
        "a sharding constraint changes nothing; costs nothing, so it runs only if selected",
        idle_constraints,
        is_default=False,
    ),
    Rule(
        "SDY-S409",
        "reshard-around-constraint",
        "a constraint causes a reshard before it and another one after it",
        reshards_around_constraints,
    ),
    Rule("SDY-S410", "conflict", "the tensors of an op have conflicting shardings", costly_conflicts),
    Rule("SDY-S411", "uneven-dim", "the axes of a dim do not divide it, so that shards are padded", uneven_dims),
    Rule("SDY-S412", "latency-bound", "many small collectives only wait for latency", many_small_collectives),
    Rule("SDY-S413", "computed-in-full", "an operand is gathered for an op that could run on shards", computed_in_full),
    Rule("SDY-S414", "idle-donation", "a donated argument is sharded otherwise than the result", idle_donations),
    Rule("SDY-S415", "misplaced-axis", "an axis shards a dim where another dim would cost less", misplaced_axes),
    Rule(
        "SDY-S416",
        "replicated-state",
        "an argument that is updated, such as optimizer state, is sharded less than the weight it belongs to",
        replicated_states,
    ),
    Rule(
        "SDY-S417",
        "lost-axis",
        "an op loses an axis of its operand, as the batch at a lookup, since another dim of its result has it",
        lost_axes,
    ),
)


def selected_rules(select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Return the rules whose codes begin with one of `select` and none of `ignore`.

    Codes may lack `SDY-`. Without `select`, the default rules are meant; `ALL` means every rule.
    Raises: SdyError SDY-T240 if no code begins with one of the selectors.
    """
    selectors, ignored = (list(map(_selector, each)) for each in (select, ignore))
    chosen = [rule for rule in RULES if any(map(rule.code.startswith, selectors)) or (not select and rule.is_default)]
    return tuple(rule for rule in chosen if not any(map(rule.code.startswith, ignored)))


def _selector(text: str) -> str:
    """Return the prefix of codes that a selector means."""
    if text == ALL:
        return PREFIX
    prefix = text if text.startswith(PREFIX) else PREFIX + text
    if not text or not any(rule.code.startswith(prefix) for rule in RULES):
        hint = f"rules: {', '.join(rule.code for rule in RULES)}, a prefix of these, or {ALL}"
        raise SdyError(Diagnostic("SDY-T240", f"unknown rule {text!r}", hint=hint))
    return prefix
