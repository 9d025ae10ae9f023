"""The JSON documents that the commands print with `--json`: their fields, types and meanings.

`DOCUMENTS` has the documents of each command. Records become documents by these types (`sdy.documents.document`); the
page of the reference and docs/reference/schema.json are generated from them. No field is removed or given another
meaning; fields may be added.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

Kind = Literal[
    "all-gather", "all-reduce", "all-to-all",
    "collective-broadcast", "collective-permute", "collective-reduce", "reduce-scatter",
]  # fmt: skip
AnyNumber = int | float


class Mesh(TypedDict):
    """A mesh of the program."""

    name: Annotated[str, "the symbol, without `@`"]
    axes: Annotated[dict[str, int], "the size of each axis, major first"]
    devices: Annotated[int, "the number of devices"]
    device_ids: Annotated[list[int], "the order of the devices; empty for 0, 1, 2, ..."]


class Value(TypedDict):
    """A value of the main function, as the user wrote it and on one device."""

    name: Annotated[str, "`%name`, or the name of the argument or result in JAX"]
    sharding: Annotated[str, "the list of dims of the sdy notation; empty for a value without a sharding"]
    global_type: Annotated[str, "the type in MLIR syntax"]
    local_type: Annotated[str, "the type on one device"]


class ReportedDiagnostic(TypedDict):
    """A diagnostic: an error, a warning or a remark."""

    code: Annotated[str, "listed in the reference of diagnostics"]
    severity: Literal["error", "warning", "remark", "note"]
    message: str
    file: str | None
    line: int | None
    column: int | None
    source: Annotated[str | None, "the line of the JAX program, such as `train.py:12`, if it is known"]
    hint: str | None
    notes: list[str]


class Collective(TypedDict):
    """A collective that each device runs. Bytes and seconds are those of one device, summed over all runs."""

    kind: Kind
    axes: Annotated[list[str], "the mesh axes among which the devices communicate"]
    runs: Annotated[int, "how often it runs; more than once in a loop"]
    bytes_sent: int
    seconds: Annotated[float, "the predicted time on the machine"]
    in_loop: bool
    function: Annotated[str, "the function of the user's program"]
    line: Annotated[int | None, "the line of the op that it belongs to"]
    source: Annotated[str, "the same line as the user knows it: `train.py:20`, or `line 7`"]
    scope: Annotated[str, "where the op was traced: `blocks.0/mlp`; transposed ops are in `transpose(blocks.0/mlp)`"]
    arguments: Annotated[list[str], "the names of the arguments of the main function that it reshards"]


class CausedCollective(Collective):
    """A collective with its causes."""

    causes: Annotated[list[str], "conflicts, rewrites, and the origin of each axis, line by line"]


class ExplainedCollective(CausedCollective):
    """A collective with the kind of its cause."""

    cause: Annotated[str, "completes the sentence `it is caused by ...`"]


class EditedCollective(ExplainedCollective):
    """A collective with the edit that avoids it or makes it cheaper."""

    edit: Annotated[str | None, "the fix of `sdy lint`, and what it saves"]


class KindStatistics(TypedDict):
    """The collectives of one kind."""

    places: Annotated[int, "ops in the program"]
    runs: int
    bytes_sent: int


class Statistics(TypedDict):
    """The statistics of the program of one device."""

    bytes_sent: int
    flops: Annotated[int, "of dots and convolutions"]
    peak_bytes: Annotated[int, "the most bytes alive at once"]
    collectives: Annotated[dict[str, KindStatistics], "by kind"]


class Output(TypedDict):
    """The comparison of one output with its expected value. Errors are those of floats on arrays that were given."""

    index: int
    agrees: bool
    absolute_error: Annotated[float | None, "null if it is not finite"]
    relative_error: Annotated[float | None, "null if it is not finite"]
    problem: Annotated[str | None, "the first element that differs"]
    undefined: Annotated[int, "elements that are expected to be infinite or NaN"]


class VerifiedRound(TypedDict):
    """The outcome of one kind of inputs."""

    inputs: str
    agrees: bool
    outputs: list[Output]


class Verdict(TypedDict):
    """The outcome of the runs of two programs."""

    agrees: Annotated[bool, "whether all outputs agree, on all inputs"]
    verdict: Annotated[str, "`the same function`, `differs`, or `not decided`"]
    reason: Annotated[str | None, "why exact numbers do not decide"]
    not_reached: Annotated[list[str], "branches and values that no round took"]
    parting: Annotated[ReportedDiagnostic | None, "the first op at which the programs part, if they differ"]
    rounds: Annotated[list[VerifiedRound], "draws of exact numbers, then special values of floats"]


class Verification(Verdict):
    """The outcome of `sdy verify`."""

    reference: Annotated[str, "what the outputs were compared with"]
    outputs: list[Output]
    meshes: list[Mesh]
    values: Annotated[list[Value], "arguments and results; with `--verbose`, the values inside too"]
    statistics: Statistics


class SizeChange(TypedDict):
    """A class of dims that have one size, in `sdy verify --reduced`."""

    before: int
    after: int
    dims: Annotated[int, "how many dims of both programs have the size"]
    reason: Annotated[str | None, "why the size was kept"]


class DeviceCounts(TypedDict):
    """The number of devices of the program, and of the reduced one."""

    before: int
    after: int


class ReducedVerification(Verdict):
    """The outcome of `sdy verify --reduced`."""

    sizes: list[SizeChange]
    devices: DeviceCounts
    ops: Annotated[int, "ops of the program"]
    local_ops: Annotated[int, "ops of the local program"]


class FileOutcome(TypedDict):
    """The outcome of a command for one of several files."""

    file: str
    exit_code: Annotated[int, "that of the command for this file"]
    outcome: Annotated[object, "the document of the command for this file; null if it could not be run"]


class Failure(TypedDict):
    """An op, or a result, for which the proof does not follow."""

    code: str
    message: str
    location: Annotated[str | None, "`file:line:column`"]


class ProofOutcome(TypedDict):
    """The outcome of `sdy verify --prove`."""

    proved: bool
    differs: Annotated[bool, "whether a run in exact numbers shows that results differ"]
    ops: Annotated[int, "of the program of one device"]
    ops_proved: Annotated[int, "for any size"]
    ops_checked: Annotated[int, "in reduced sizes, in exact numbers"]
    check: Annotated[str | None, "how they were checked"]
    borders: Annotated[int, "values after checked ops that the runs compared, and from which the proof goes on"]
    lemmas: Annotated[dict[str, int], "how often each lemma was used"]
    failures: list[Failure]
    gaps: Annotated[list[Failure], "the first ops that are checked, not proved"]


class Partition(TypedDict):
    """The partitioned program of `sdy partition`."""

    program: Annotated[str | None, "its text; null if `--output` names a file"]
    output: Annotated[str | None, "the file that the program was written to"]
    statistics: Statistics


class Totals(TypedDict):
    """The totals of one device."""

    bytes_sent: int
    seconds: Annotated[float, "the predicted time, without overlap"]
    peak_bytes: int


class Conflict(TypedDict):
    """An op at which an axis of one tensor could not be propagated to another one."""

    line: int | None
    source: Annotated[str, "the text of the line number, with the line in JAX if it is known"]
    op: str
    axes: list[str]
    sentences: list[str]


class ComparedPartitioner(TypedDict):
    """The program that one partitioner made, and its outputs."""

    partitioner: str
    problem: Annotated[str | None, "why it failed, or why the outputs are not compared"]
    statistics: Statistics | None
    outputs: list[Output]


class Report(TypedDict):
    """The report of `sdy report`."""

    machine: str
    meshes: list[Mesh]
    values: Annotated[list[Value], "arguments and results"]
    collectives: list[ExplainedCollective]
    conflicts: list[Conflict]
    remarks: list[ReportedDiagnostic]
    totals: Totals
    partitioners: Annotated[list[ComparedPartitioner], "those of `--with`, ours first; empty without it"]


class CostedCollectives(TypedDict):
    """The collectives of one kind along the same axes, on one device."""

    kind: Kind
    axes: Annotated[str, "in the notation of shardings"]
    places: Annotated[int, "ops in the program"]
    runs: int
    bytes_sent: int
    seconds: float
    latency_bound_runs: Annotated[int, "runs whose time is that of the hops, not of the bytes"]


class Cost(TypedDict):
    """The cost of a program on one device."""

    hardware: str
    fits: Annotated[bool, "whether the peak fits into the free memory"]
    peak_bytes: int
    attention_bytes: Annotated[int, "by which the peak is lower with kernels of flash attention"]
    free_bytes: int
    compute_seconds: Annotated[float, "contractions, in tiles"]
    memory_seconds: Annotated[float, "the bytes of all kernels at the bandwidth of the memory"]
    op_seconds: Annotated[float, "the sum of the times of all kernels"]
    attention_seconds: Annotated[float, "the part of `op_seconds` in kernels of flash attention"]
    communication_seconds: float
    host_seconds: Annotated[float, "transfers between the memories of device and host"]
    seconds: Annotated[float, "with collectives beside ops, as a compiler schedules them"]
    exposed_seconds: Annotated[float, "the part of `seconds` in which the device waits"]
    error: Annotated[float, "90 % of published steps are predicted within this share; 0 if there are none"]
    unpriced: Annotated[list[str], "ops without a known cost, of which only the bytes of operands and results count"]
    seconds_overlapped: Annotated[float, "with perfect overlap"]
    seconds_in_turn: Annotated[float, "without overlap"]
    collectives: list[CostedCollectives]


class Machine(TypedDict):
    """A machine that `sdy cost` knows."""

    name: str
    network: Annotated[dict[str, object], "`kind` is `torus` or `switch`; the other fields depend on it"]
    hbm_bandwidth: Annotated[AnyNumber, "bytes a second"]
    hbm_bytes: AnyNumber
    rates: Annotated[dict[str, AnyNumber], "operations a second of the matrix unit, by element type"]
    kernels: Annotated[dict[str, object], "what kernels reach of these numbers: docs/costs.md"]
    host_bandwidth: Annotated[AnyNumber, "bytes a second to the memory of the host; 0 if it is not known"]
    error: Annotated[float, "90 % of published steps are predicted within this share; 0 if there are none"]


class Breach(TypedDict):
    """A broken bound of a contract."""

    code: str
    message: str
    details: list[str]
    collectives: list[CausedCollective]


class Check(TypedDict):
    """The outcome of `sdy check`."""

    holds: bool
    broken: list[Breach]


class Price(TypedDict):
    """A cost on one device, or what a fix saves; negative where a fix costs."""

    bytes_sent: int
    seconds: float
    memory: Annotated[int, "bytes"]


class Fix(TypedDict):
    """A change of annotations that avoids a finding; it was tried."""

    text: str
    saves: Price
    is_applied_by_fix: Annotated[bool, "whether `--fix` applies it"]


class Finding(TypedDict):
    """An avoidable cost."""

    code: str
    message: str
    file: str | None
    line: int | None
    column: int | None
    source: str
    cost: Price
    fix: Fix | None
    notes: list[str]


class Lint(TypedDict):
    """The outcome of `sdy lint`."""

    fixed: Annotated[list[Finding], "the findings that `--fix` fixed"]
    findings: list[Finding]
    untried: Annotated[int, "possible findings that were not tried"]
    totals: Annotated[Price, "of the program"]


class ShardingChange(TypedDict):
    """A value with other axes; a sharding is empty where there is none."""

    old_name: str
    new_name: str
    old: str
    new: str


class CollectiveChange(TypedDict):
    """A collective that came (`old` is null), went (`new` is null), or moved."""

    old: Collective | None
    new: Collective | None
    causes: list[str]


class OpChanges(TypedDict):
    """The number of ops that only one of two programs has."""

    added: int
    removed: int


class Difference(TypedDict):
    """The outcome of `sdy diff`."""

    machine: str
    old: Totals
    new: Totals
    ops: OpChanges
    annotations: list[ShardingChange]
    shardings: list[ShardingChange]
    collectives: list[CollectiveChange]


class Constraint(TypedDict):
    """A sharding constraint on equal values of one line of the program."""

    source: Annotated[str, "the line as the user knows it: `train.py:20`, or `line 7`"]
    type: Annotated[str, "the type of the values"]
    spec: Annotated[str, "the PartitionSpec"]
    values: Annotated[list[str], "the names of the values"]


class FixedComputation(TypedDict):
    """A manual computation of a searched program."""

    source: Annotated[str, "the line as the user knows it: `train.py:20`, or `line 7`"]
    in_specs: Annotated[list[str], "the PartitionSpec of each operand"]
    out_specs: Annotated[list[str], "the PartitionSpec of each result"]


class HeldValues(TypedDict):
    """Equal values that are alive where a program needs the most memory."""

    source: Annotated[str, "the line that computes them; empty if unknown"]
    type: Annotated[str, "the type of one of them"]
    count: int
    bytes: Annotated[int, "of all of them on a device, each in its smallest shard"]


class LeastMemory(TypedDict):
    """The memory that each device needs at one point of a program, however it is sharded."""

    bytes: int
    values: Annotated[list[HeldValues], "the largest first"]


class XlaCheck(TypedDict):
    """A program as it was, with the shardings of a plan alone, and with its constraints, by sdy and by XLA."""

    before: ComparedPartitioner
    xla_before: ComparedPartitioner
    rules: ComparedPartitioner
    xla_rules: ComparedPartitioner
    plan: ComparedPartitioner
    xla_plan: ComparedPartitioner


class Plan(TypedDict):
    """The shardings that `sdy search` found."""

    mesh: Annotated[dict[str, int], "the size of each axis"]
    minimized: Literal["time", "bytes", "memory"]
    rules: Annotated[dict[str, str], "the PartitionSpec by patterns of paths of arguments; the first counts"]
    in_shardings: Annotated[dict[str, str], "the PartitionSpec of each argument"]
    out_shardings: Annotated[dict[str, str], "the PartitionSpec of each result"]
    constraints: list[Constraint]
    fixed: Annotated[list[FixedComputation], "the manual computations, which stay as they are"]
    before: Cost
    after: Cost
    after_without_constraints: Annotated[Cost, "with the shardings of arguments and results alone"]
    xla: Annotated[XlaCheck | None, "what XLA makes of the plan; null if it was not tried"]
    gap: Annotated[float | None, "the most that a better plan could save, as a share of the cost; null if unknown"]
    least_memory: Annotated[LeastMemory | None, "if no plan can fit"]
    tried: Annotated[int, "annotated programs that were partitioned"]
    untried_meshes: Annotated[int, "meshes that were not compared before their share of the time limit was up"]
    is_complete: Annotated[bool, "whether the search ended before the time limit"]
    end: Annotated[
        Literal["bound", "interrupt", "no-gain", "nothing-better", "solved", "time-limit", "too-little-to-save"],
        "why the search ended",
    ]


class AxisChoice(TypedDict):
    """An axis that the plan chose for equal arguments, and the best plan without it."""

    values: Annotated[list[str], "the names of the arguments"]
    spec: Annotated[str, "their PartitionSpec"]
    dim: int
    axis: str
    alternative: Annotated[str | None, "the PartitionSpec in the best plan without the axis; null if there is none"]
    extra: Annotated[AnyNumber | None, "what that plan costs more, in seconds or bytes; null if there is none"]


class PipelinePlan(TypedDict):
    """A pipeline for a program of equal layers: the document of `sdy search --stages`."""

    mesh: Annotated[dict[str, int], "the size of each axis of the mesh of a stage"]
    meshes: Annotated[int, "the number of meshes, `m0` and so on"]
    layers: Annotated[list[int], "the number of layers of each stage"]
    mesh_of_stage: list[str]
    microbatches: int
    schedule: Annotated[str, "the name for `sdy.mpmd.make_config`"]
    recomputing: Annotated[list[str], "the meshes that compute forward phases again"]
    in_shardings: Annotated[dict[str, str], "the PartitionSpec of each argument on the mesh of its stage"]
    rules: Annotated[dict[str, str], "the same as rules for paths; empty for a program that is not from JAX"]
    bound: Annotated[AnyNumber, "seconds that no division into stages and no schedule with these shardings undercuts"]
    free_bytes: Annotated[int, "the memory of a device that the program may use"]
    fits: bool
    cost: Annotated[object, "the document of `sdy cost` for a program of several meshes"]
    compared: Annotated[int, "the number of simulated pipelines"]
    undivided: Annotated[list[int], "numbers of microbatches that do not divide the batch"]
    is_complete: Annotated[bool, "false if the time limit or the user ended the search"]
    end: Annotated[str, "the reason for the end, as of a plan"]


class PlanExplanation(TypedDict):
    """The savings by each axis of a plan, at the prices of the search's cost network."""

    minimized: Literal["time", "bytes", "memory"]
    cost: Annotated[AnyNumber, "of the best plan in the network"]
    choices: list[AxisChoice]
    untried: Annotated[int, "choices for which there was no time"]


class ExplainedPlan(Plan):
    """A plan with `--explain`."""

    explanation: PlanExplanation


class KindErrors(TypedDict):
    """The sizes of the relative errors of the measurements of one kind."""

    kind: Literal["copies", "products", "collectives"]
    count: int
    median: float
    most: Annotated[float, "what 90 % of them do not exceed"]


class Calibration(TypedDict):
    """The errors of a machine before and after a fit to measurements."""

    before: list[KindErrors]
    after: list[KindErrors]


class SweepCost(TypedDict):
    """The cost of one device."""

    seconds: float
    communication_seconds: float
    bytes_sent: AnyNumber
    peak_bytes: int
    free_bytes: AnyNumber
    gap: Annotated[float | None, "that of the search, if there was one"]
    fits: bool


class SweepPoint(TypedDict):
    """The program on one mesh of a machine."""

    machine: str
    mesh: Annotated[str, "such as `data=4,model=2`"]
    shardings: Literal["annotated", "searched"]
    cost: SweepCost | None
    problem: Annotated[str | None, "the reason why the point could not be priced"]
    is_pareto: Annotated[bool, "whether no other point of the machine needs less time and less memory"]


class Sweep(TypedDict):
    """All points of a sweep, by machine and time."""

    points: list[SweepPoint]
    is_complete: Annotated[bool, "whether it was not interrupted"]
    limit: Annotated[str | None, "the reason why other meshes, or other shardings, were not priced"]


class AppliedStep(TypedDict):
    """A step of tactics, and the cost of the program after it; the first step is the program as it was."""

    tactics: str
    values: Annotated[int, "the arguments and results that the step annotated"]
    cost: Cost


class AppliedTactics(TypedDict):
    """The steps that sharded a program."""

    mesh: Annotated[dict[str, int], "the size of each axis, major first"]
    steps: list[AppliedStep]


class Step(TypedDict):
    """A step of propagation."""

    line: str
    text: str


class AxisOrigin(TypedDict):
    """An axis of a dim, and how it got there."""

    dim: int
    axis: str
    steps: Annotated[list[Step], "the annotation, then the ops that propagated the axis"]


class Copy(TypedDict):
    """A copy of a value; most values have one."""

    sharding: str | None
    axes: list[AxisOrigin]


class ExplainedValue(TypedDict):
    """The origin of the sharding of a value."""

    name: str
    op: Annotated[str, "`argument`, or the name of the op"]
    line: str | None
    copies: list[Copy]


class Explanation(TypedDict):
    """The outcome of `sdy explain`. Answers to questions that were not asked are null."""

    values: list[ExplainedValue] | None
    why_not: Annotated[list[str] | None, "the lines of the answer to `--why-not`"]
    conflicts: list[Conflict] | None
    collectives: list[EditedCollective] | None


class Example(TypedDict):
    """An example program."""

    name: str
    summary: str


class Examples(TypedDict):
    """The programs that `sdy examples` lists."""

    examples: list[Example]


class CopiedExample(TypedDict):
    """The files that `sdy examples NAME` copied."""

    copied: list[str]


class Notation(TypedDict):
    """A sharding in all notations of `sdy notation`."""

    notations: Annotated[dict[str, str], "by label: `sdy`, `PartitionSpec`, `HloSharding`, `subscripts`, `@mesh`, ..."]


class RuleFindings(TypedDict):
    """The findings of an audit about a sharding rule."""

    rule: Annotated[str, "in the sdy notation"]
    problems: Annotated[list[str], "the factors that are not sound, and why"]
    could_be_tied: Annotated[list[str], "pairs of dims that could be split alike, and dims that could be reduced"]


class AuditedOp(TypedDict):
    """The audit of an op of a program."""

    op: Annotated[str, "`stablehlo.add`, or `custom call @target`"]
    line: int | None
    reason: Annotated[str | None, "the reason if the rule was not audited"]
    audit: RuleFindings | None
    proposal: Annotated[str | None, "with --learn: a rule in the sdy notation"]


class AuditedRules(TypedDict):
    """The audits of the rules of one op on the programs of the catalogue."""

    op: str
    programs: Annotated[int, "the number of programs that were run"]
    not_sound: list[RuleFindings]
    incomplete: list[RuleFindings]
    reasons: Annotated[list[str], "why the rules are as they are"]


# The forms of the documents of each command.
DOCUMENTS: dict[str, tuple[object, ...]] = {
    "verify": (Verification, ReducedVerification, ProofOutcome, list[FileOutcome]),
    "check": (Check, list[FileOutcome]),
    "audit": (list[AuditedOp], list[AuditedRules], list[FileOutcome]),
    "report": (Report, list[FileOutcome]),
    "explain": (Explanation,),
    "cost": (Cost, list[Machine], list[FileOutcome]),
    "calibrate": (Calibration,),
    "diff": (Difference,),
    "lint": (Lint, list[FileOutcome]),
    "search": (Plan, ExplainedPlan, PipelinePlan, Sweep, list[FileOutcome]),
    "apply": (AppliedTactics, list[FileOutcome]),
    "partition": (Partition, list[FileOutcome]),
    "notation": (Notation,),
    "examples": (Examples, CopiedExample),
}
# Those of the old names of commands, which work for one release.
OLD_DOCUMENTS: dict[str, tuple[object, ...]] = {
    "prove": (ProofOutcome,),
    "sweep": (Sweep,),
    "compare": (list[ComparedPartitioner],),
}
