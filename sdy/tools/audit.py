"""`sdy audit`: checks sharding rules by running ops, and proposes rules for custom calls."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError
from sdy.documents.document import document
from sdy.evidence.audit.audit_rule import RuleAudit
from sdy.evidence.audit.catalogue.all import programs
from sdy.evidence.audit.program_audit import OpAudit, audit_program
from sdy.evidence.audit.summary import OpSummary, audit_catalogue, merged
from sdy.grammar.write import write_rule
from sdy.rules.all import RULE_ATTRIBUTE
from sdy.tools.command_line.arguments import add_json_argument, print_json
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.loading import with_program
from sdy.tools.command_line.processes import add_processes_argument, run_in_processes
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

_SHARE = 50  # programs that a process audits before it gets others

DESCRIPTION = f"""\
Check the sharding rules of the ops of a program by running each op on random inputs, with each element of its operands
changed in turn. Along a factor that passes through, each slice of the results may depend only on the same slice of the
operands; along a reduction, the results must combine from those of the slices. A custom call, or an op of a dialect of
your own, must also compute the same when it runs on slices, because the partitioner runs it so. Dims that could be tied
in addition are listed. Use small tensors: a rule is checked on the shapes of the program.

Without FILE, check the rules of StableHLO and CHLO on a catalogue of programs, in parallel processes. With --learn,
propose a rule for each custom call and each op of another dialect; --load imports the module that defines its kernel.

{SEVERAL_FILES}

Exit status: 0 if all rules are sound, apart from known differences; 1 if one is not; 2 if the command could not be run,
or if no op of FILE could be audited.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("audit", DESCRIPTION)
    add_files_argument(parser, "StableHLO text (default: the catalogue)", nargs="*")
    parser.add_argument("--learn", action="store_true", help="propose rules for custom calls and ops of other dialects")
    parser.add_argument("-v", "--verbose", action="store_true", help="show each finding about the catalogue")
    add_json_argument(parser)
    add_processes_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Audit the rules, and print what is found."""
    if not arguments.files:
        return _audit_catalogue(arguments)
    return run_files(arguments, _audit_file, is_json=arguments.json, processes=arguments.processes)


def _audit_file(arguments: Namespace) -> int:
    audits = with_program(arguments, lambda program: audit_program(program.module, learn=arguments.learn))
    done = [each for each in audits if each.audit or each.proposal]
    if not done:
        notes = tuple(Note(f"{each.name}: {each.reason}", each.span) for each in audits)
        raise SdyError(Diagnostic("SDY-T271", f"{arguments.file} has no op that can be audited", notes=notes))
    if arguments.json:
        print_json([_op_to_json(each) for each in audits])
    else:
        for each in audits:
            print("\n".join(_lines(each)))
    return NO if any(each.audit and not each.audit.is_sound for each in done) else SUCCESS


def _lines(found: OpAudit) -> list[str]:
    place = f"{found.span.file}:{found.span.line}: " if found.span else ""
    if found.audit is None:
        lines = [f"{place}{found.name}: not audited: {found.reason}"]
    else:
        lines = [f"{place}{found.name}: {'sound' if found.audit.is_sound else 'not sound'}"]
        lines += [f"  rule: {write_rule(found.audit.rule)}", *_findings(found.audit)]
    if found.proposal is not None:
        lines.append(f"  proposed: {RULE_ATTRIBUTE} = #sdy.op_sharding_rule{write_rule(found.proposal)}")
    return lines


def _findings(audit: RuleAudit) -> list[str]:
    problems = [f"  not sound: {each}" for each in audit.problems]
    return [*problems, *(f"  could be tied: {each}" for each in audit.missing)]


def _audit_catalogue(arguments: Namespace) -> int:
    summaries = catalogue_summaries(arguments.processes)
    if arguments.json:
        print_json([_summary_to_json(each) for each in summaries])
    else:
        _print_catalogue(summaries, verbose=arguments.verbose)
    return SUCCESS if all(each.is_as_known for each in summaries) else NO


def catalogue_summaries(processes: int | None) -> list[OpSummary]:
    """Return the audit of the catalogue, from parallel processes; None for one per core."""
    texts = list(programs())
    parts = [texts[start : start + _SHARE] for start in range(0, len(texts), _SHARE)]
    return merged(run_in_processes(audit_catalogue, parts, processes))


def _print_catalogue(summaries: list[OpSummary], *, verbose: bool) -> None:
    sound = [each for each in summaries if not each.unsound and not each.incomplete]
    for each in summaries:
        if each in sound:
            continue
        counts = f"{len(each.unsound)} not sound, {len(each.incomplete)} could tie more dims"
        print(f"{each.op}: {each.programs} programs: {counts}")
        for audit in [*each.unsound, *each.incomplete] if verbose else [*each.unsound[:1], *each.incomplete[:1]]:
            print(f"  rule: {write_rule(audit.rule)}")
            print("\n".join(f"  {line}" for line in _findings(audit)))
        for reason in each.reasons:
            print(f"  reason: {reason}")
    programs = sum(each.programs for each in summaries)
    print(f"{len(sound)} of {len(summaries)} ops: all rules sound and complete; {programs} programs run")


def _op_to_json(found: OpAudit) -> dict[str, object]:
    audit, proposal = found.audit and _audit_to_json(found.audit), found.proposal and write_rule(found.proposal)
    line = found.span and found.span.line
    return document("AuditedOp", found, op=found.name, line=line, audit=audit, proposal=proposal)


def _audit_to_json(audit: RuleAudit) -> dict[str, object]:
    return document("RuleFindings", audit, rule=write_rule(audit.rule), could_be_tied=audit.missing)


def _summary_to_json(summary: OpSummary) -> dict[str, object]:
    not_sound, incomplete = map(_audit_to_json, summary.unsound), map(_audit_to_json, summary.incomplete)
    return document("AuditedRules", summary, not_sound=not_sound, incomplete=incomplete)
