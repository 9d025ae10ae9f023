"""Texts that partitioners and other tools write: each annotation is read, or a warning says that it is ignored."""

from __future__ import annotations

from itertools import product

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import print_module
from sdy.program.program import Program

HEADER = "module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {\n"
MESH = 'sdy.mesh @m = <["x"=2]>\n'
TYPE = "tensor<4x8xf32>"


def result_type(program: Program) -> str:
    """Return the type of the result on one device."""
    return str(main_function(program.partition().local).function_type.outputs.data[0])


def notes(program: Program) -> list[str]:
    """Return what the warnings about ignored annotations say, with their hints."""
    return [f"{each.message} ({each.hint})" for each in program.origin.warnings]


# Where an annotation stands: on an argument, a result, an op, a constraint; in a function, a loop, a branch.
LOOP = """
    %n = stablehlo.constant dense<3> : tensor<i32>
    %o = stablehlo.constant dense<1> : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %z, %x = %a) : tensor<i32>, tensor<4x8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %o : tensor<i32>
      %y = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "SHARDING"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %j, %y : tensor<i32>, tensor<4x8xf32>
    }
    return %r#1 : tensor<4x8xf32>
"""
BRANCH = """
    %z = stablehlo.constant dense<0> : tensor<i32>
    %r = "stablehlo.case"(%z) ({
      %y = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "SHARDING"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %y : tensor<4x8xf32>
    }) : (tensor<i32>) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
"""
CALL = """
    %r = call @f(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
  func.func private @f(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %r = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "SHARDING"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
"""
SINE = f"%r = stablehlo.sine %a : {TYPE}\n    return %r : {TYPE}\n"
ANNOTATED = '{mhlo.sharding = "SHARDING"}'


def in_main(body: str, argument: str = "", result: str = TYPE) -> str:
    return f"{HEADER}  func.func public @main(%a: {TYPE} {argument}) -> {result} {{\n    {body}  }}\n}}\n"


PLACES = {
    "argument": in_main(SINE, argument=ANNOTATED),
    "result": in_main(SINE, result=f"({TYPE} {ANNOTATED})"),
    "op": in_main(SINE.replace(" :", f" {ANNOTATED} :", 1)),
    "generic op": in_main(f'%r = "stablehlo.sine"(%a) {ANNOTATED} : ({TYPE}) -> {TYPE}\n    return %r : {TYPE}\n'),
    "located op": in_main(SINE.replace(" :", f" {ANNOTATED} :", 1).replace("\n", ' loc("s")\n', 1)),
    "loop": in_main(LOOP),
    "branch": in_main(BRANCH),
    "call": in_main(CALL),
}
# The text of a sharding, and the type of a shard.
READ = {
    "{devices=[4,2]<=[8]}": "tensor<1x4xf32>",
    "{devices=[2,4]<=[8]}": "tensor<2x2xf32>",
    "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}": "tensor<2x8xf32>",
    "{devices=[1,4,2]<=[8] last_tile_dims={replicated}}": "tensor<4x2xf32>",
    "{devices=[2,2,2]<=[2,2,2]T(2,0,1) last_tile_dim_replicate}": "tensor<2x4xf32>",
    "{devices=[4,2]7,6,5,4,3,2,1,0}": "tensor<1x4xf32>",
    "{devices=[4,2]<=[8] metadata={op_name=\\22a\\22}}": "tensor<1x4xf32>",
    "{devices=[4,2]<=[8] metadata={{op_name=\\22a\\22}, {op_name=\\22b\\22}}}": "tensor<1x4xf32>",
    "{{devices=[4,2]<=[8]}}": "tensor<1x4xf32>",
    "{replicated}": TYPE,
    "{unknown}": TYPE,
}


@pytest.mark.parametrize(("place", "written"), [*product(PLACES, READ)])
def test_shardings_of_gspmd_are_read_everywhere(place: str, written: str) -> None:
    program = Program.from_text(PLACES[place].replace("SHARDING", written))
    assert notes(program) == []
    assert result_type(program) == READ[written]


# Shardings that no mesh expresses, and those of a wrong size: the program runs without them.
IGNORED = (
    "{devices=[4,2]<=[4]}",
    "{devices=[8]<=[8]}",
    "{devices=[4,4]<=[16]}",
    "{devices=[4,1]<=[4]}",
    "{replicated shard_like 0}",
    "{unknown shard_like 7}",
    "{devices=[4,1,2]<=[8] last_tile_dims={manual}}",
    "{manual}",
    "{{devices=[4,2]<=[8]}, {replicated}}",
    "hello",
)


@pytest.mark.parametrize("place", ["argument", "result", "op", "generic op", "located op"])
@pytest.mark.parametrize("written", IGNORED)
def test_what_is_not_read_is_reported_where_it_stands(written: str, place: str) -> None:
    program = Program.from_text(PLACES[place].replace("SHARDING", written))
    (note,) = notes(program)
    assert f'"{written}"' in note
    assert result_type(program) == TYPE


def test_groups_are_sharded_alike() -> None:
    group = 'stablehlo.custom_call @Sharding({}) {{mhlo.sharding = "{{{} shard_as 5}}"}} : (TYPE) -> TYPE'
    body = f"""%c = stablehlo.constant dense<1.0> : {TYPE}
    %s = {group.format("%a", "devices=[4,2]<=[8]").replace("TYPE", TYPE)}
    %r = {group.format("%c", "unknown").replace("TYPE", TYPE)}
    return %r : {TYPE}
"""
    program = Program.from_text(in_main(body))
    assert notes(program) == []
    assert print_module(program.module).count("group_id=5") == 2
    assert result_type(program) == "tensor<1x4xf32>"


def test_calls_on_one_device_have_a_mesh_of_it() -> None:
    attributes = 'has_side_effect = true, mhlo.sharding = "{maximal device=2}"'
    body = f"""stablehlo.custom_call @log(%a) {{{attributes}}} : ({TYPE}) -> ()
    {SINE}"""
    program = Program.from_text(in_main(body, argument='{mhlo.sharding = "{devices=[4,2]<=[8]}"}'))
    assert notes(program) == []
    assert "device_ids=[2]" in str(program.partition().global_module)


HLO = """HloModule f, entry_computation_layout={{({0})->{1}}}, {2}, num_partitions=4{3}

ENTRY main {{
  p = {0} parameter(0), sharding={{devices=[4,1]<=[4]}}{5}
{4}
}}
"""
MESHES = ', frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=4]>}}'
ROWS = ', frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"x\\"}, {}]>"}'
OPEN = "allow_spmd_sharding_propagation_to_output={true}"
F32 = "f32[8,4]{1,0}"
TWO = f"({F32}, {F32})"


def hlo(body: str, *, result: str = F32, flags: str = OPEN, shardy: bool = True) -> str:
    return HLO.format(F32, result, flags, MESHES if shardy else "", body, ROWS if shardy else "")


# HLO text, and the types of the results on one device.
DUMPS = {
    "a free result": (
        hlo(f'  ROOT s = {F32} custom-call(p), custom_call_target="Sharding", sharding={{replicated}}, '
            'backend_config="unspecified_dims=[0,1]"', shardy=False),
        ["2x4xf32"],
    ),
    "a given result": (
        hlo(f"  ROOT s = {F32} sine(p), sharding={{devices=[1,4]<=[4]}}", shardy=False,
            flags="allow_spmd_sharding_propagation_to_output={false}"),
        ["8x1xf32"],
    ),
    "one free result of two": (
        hlo(f"  s = {F32} sine(p)\n  c = {F32} cosine(p)\n  ROOT t = {TWO} tuple(s, c), "
            "sharding={{replicated}, {replicated}}", result=TWO, shardy=False,
            flags="allow_spmd_sharding_propagation_to_output={false,true}"),
        ["8x4xf32", "2x4xf32"],
    ),
    "results of Shardy": (
        hlo(f"  s = {F32} sine(p)\n  c = {F32} cosine(p)\n  ROOT t = {TWO} tuple(s, c), "
            "sharding={{replicated}, {replicated}}", result=TWO),
        ["2x4xf32", "2x4xf32"],
    ),
    "a given result of Shardy": (
        hlo(f'  s = {F32} sine(p)\n  ROOT r = {F32} custom-call(s), custom_call_target="xla.sdy.FuncResultSharding", '
            'frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{}, {\\"x\\"}]>]>"}',
            flags="is_scheduled=false"),
        ["8x1xf32"],
    ),
    "a call without results": (
        hlo(f'  c = () custom-call(p), custom_call_target="log", custom_call_has_side_effect=true\n'
            f"  ROOT s = {F32} sine(p)"),
        ["2x4xf32"],
    ),
    "a call with several results": (
        hlo(f'  c = {TWO} custom-call(p), custom_call_target="both"\n  ROOT s = {F32} get-tuple-element(c), index=1'),
        ["8x4xf32"],
    ),
    "a group of Shardy": (
        hlo(f'  g = () custom-call(p), custom_call_target="xla.sdy.ShardingGroup", custom_call_has_side_effect=true, '
            'frontend_attributes={xla.sdy.sharding_group_id="3 : i64"}\n'
            f"  z = f32[] constant(2)\n  b = {F32} broadcast(z), dimensions={{}}\n"
            '  h = () custom-call(b), custom_call_target="xla.sdy.ShardingGroup", custom_call_has_side_effect=true, '
            'frontend_attributes={xla.sdy.sharding_group_id="3 : i64"}\n'
            f"  ROOT r = {F32} sine(b)"),
        ["2x4xf32"],
    ),
    "erf": (hlo(f"  ROOT s = {F32} erf(p)"), ["2x4xf32"]),
    "top_k": (
        hlo("  ROOT t = (f32[8,2]{1,0}, s32[8,2]{1,0}) topk(p), k=2, largest=true",
            result="(f32[8,2]{1,0}, s32[8,2]{1,0})"),
        ["2x2xf32", "2x2xi32"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DUMPS)
def test_dumps_of_xla_are_read(name: str) -> None:
    pytest.importorskip("jax", reason="HLO is read through JAX")
    from sdy.compile.source_text import source_text

    text, expected = DUMPS[name]
    program = Program.from_text(source_text(text.encode(), "dump.txt"))
    assert notes(program) == []
    types = main_function(program.partition().local).function_type.outputs
    assert [str(each) for each in types] == [f"tensor<{each}>" for each in expected]


def text(op: str, argument: str = "", attributes: str = "", before: str = "", result: str = TYPE) -> str:
    module = f"module attributes {{{attributes}}} {{\n{MESH}{before}" if attributes else f"{MESH}{before}"
    main = f"func.func @main(%a: {TYPE} {argument}) -> {result} {{\n  {op}\n  return %0 : {TYPE}\n}}\n"
    return module + main + ("}" if attributes else "")


PLAIN = f"%0 = stablehlo.sine %a : {TYPE}"
X = '#sdy.sharding<@m, [{"x"}, {}]>'
FRONTEND = "mhlo.frontend_attributes = {{{} = {}}}"
# The text, a part of its only warning, and of the hint.
WARNED = {
    "argument": (text(PLAIN, f"{{sdy.shardng = {X}}}"), "sdy.shardng of argument 0 of @main", "mean sdy.sharding?"),
    "result": (text(PLAIN, result=f"({TYPE} {{sdy.Sharding = {X}}})"), "of result 0 of @main", "sdy.sharding?"),
    "op": (text(PLAIN.replace(" :", " {sdy.sharding_ruls = 1 : i64} :")), "of stablehlo.sine", "sdy.sharding_rule?"),
    "module": (text(PLAIN, attributes="sdy.layers = 1 : i64"), "sdy.layers of the module", "sdy.layer?"),
    "function": (
        text(f"%0 = call @g(%a) : ({TYPE}) -> {TYPE}",
             before=f"func.func private @g(%a: {TYPE} {{sdy.shading = 1 : i64}}) -> {TYPE} {{ return %a : {TYPE} }}\n"),
        "sdy.shading of argument 0 of @g", "sdy.sharding?",
    ),
    "call": (text(f"%0 = call @g(%a) {{sdy.shardings = 1 : i64}} : ({TYPE}) -> {TYPE}",
                  before=f"func.func private @g(%a: {TYPE}) -> {TYPE} {{ return %a : {TYPE} }}\n"),
             "of func.call", "sdy.sharding?"),
    "another dialect": (text(PLAIN, "{shardy.sharding = 1 : i64}"), "shardy.sharding = 1 : i64", "write its meaning"),
    "no dialect": (text(PLAIN.replace(" :", " {sharding = 1 : i64} :")), "sharding = 1 : i64", "write its meaning"),
    "frontend attribute": (
        text(PLAIN, "{" + FRONTEND.format("xla.sdy.shardng", '"x"') + "}"), "xla.sdy.shardng", "xla.sdy.sharding?",
    ),
    "frontend attribute of an op": (
        text(PLAIN.replace(" :", " {" + FRONTEND.format("xla.sdy.sharding_rules", '"x"') + "} :")),
        "xla.sdy.sharding_rules", "xla.sdy.sharding_rule?",
    ),
    "shardings of the module": (
        text(PLAIN, attributes='mhlo.spmd_output_sharding = "{devices=[2,1]<=[2]}"'), "of the module is", "write",
    ),
}  # fmt: skip
CALLS = ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.GlobalToLocalShape",
         "xla.sdy.LocalToGlobalShape", "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier",
         "AutoSharding", "spmd_mark_sharding", "my.reshard")  # fmt: skip


@pytest.mark.parametrize("name", WARNED)
def test_misspelt_annotations_are_reported_once(name: str) -> None:
    written, message, hint = WARNED[name]
    (note,) = notes(Program.from_text(written))
    assert message in note
    assert hint in note


@pytest.mark.parametrize("target", CALLS)
def test_calls_of_partitioners_are_not_ignored_in_silence(target: str) -> None:
    program = Program.from_text(text(f"%0 = stablehlo.custom_call @{target}(%a) : ({TYPE}) -> {TYPE}"))
    assert notes(program)[0].startswith(f"the custom call @{target}, an annotation, is ignored")


ELEMENTS = (
    "i1", "i2", "i4", "ui2", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64", "f16", "bf16", "f32",
    "f64", "complex<f32>", "complex<f64>", "f8E4M3FN", "f8E5M2", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FNUZ",
    "f8E5M2FNUZ", "f8E3M4", "f8E8M0FNU", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "!quant.uniform<i8:f32, 0.5:3>",
    "!quant.uniform<i8:f32:1, {0.5, 0.25, 2.0}>",
)  # fmt: skip


@pytest.mark.parametrize("element", ELEMENTS)
def test_every_element_type_is_moved_between_shards(element: str) -> None:
    kind = f"tensor<4x3x{element}>"
    written = f"""{MESH}func.func @main(%a: {kind} {{sdy.sharding = {X}}}) -> {kind} {{
  %0 = stablehlo.reverse %a, dims = [0] : {kind}
  return %0 : {kind}
}}"""
    program = Program.from_text(written)
    assert program.verify().verdict.value == "the same function"
    assert program.prove().is_proved


def dynamic(op: str, *tables: str) -> str:
    """Return a program with an op whose operands after the first are tables of integers."""
    constants = [
        f"%{name} = stablehlo.constant dense<{table}> : tensor<2xi64>"
        for name, table in zip("stu", tables, strict=False)
    ]
    return text(
        "\n  ".join([*constants, "%z = stablehlo.constant dense<0.0> : tensor<f32>", op]), f"{{sdy.sharding = {X}}}"
    )


I64S, SCALAR = "tensor<2xi64>", "tensor<f32>"
BROADCAST = f"%0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 1] : ({TYPE}, {I64S}) -> {TYPE}"
RESHAPE = f"%0 = stablehlo.dynamic_reshape %a, %s : ({TYPE}, {I64S}) -> {TYPE}"
IOTA = f"%0 = stablehlo.dynamic_iota %s, dim = 0 : ({I64S}) -> {TYPE}"
RNG = f"%0 = stablehlo.rng %z, %z, %s, distribution = UNIFORM : ({SCALAR}, {SCALAR}, {I64S}) -> {TYPE}"
PAD = f"%0 = stablehlo.dynamic_pad %a, %z, %s, %t, %s : ({TYPE}, {SCALAR}, {I64S}, {I64S}, {I64S}) -> {TYPE}"
SLICE = f"%0 = stablehlo.real_dynamic_slice %a, %s, %t, %u : ({TYPE}, {I64S}, {I64S}, {I64S}) -> {TYPE}"


def quantized(axis: int, scales: str, argument: str = "") -> str:
    return text(f"%0 = stablehlo.negate %a : {TYPE}", argument).replace(
        "xf32", f"x!quant.uniform<i8:f32:{axis}, {{{scales}}}>"
    )


# Programs that no run can execute, and a part of the error.
BROKEN = {
    "broadcast": (dynamic(BROADCAST, "[8, 4]"), "give no shape"),
    "reshape": (dynamic(RESHAPE, "[8, 4]"), "give the shape [8, 4], but its result has [4, 8]"),
    "reshape of another size": (dynamic(RESHAPE, "[2, 8]"), "give no shape"),
    "iota": (dynamic(IOTA, "[2, 8]"), "give the shape [2, 8]"),
    "negative iota": (dynamic(IOTA, "[4, -8]"), "give no shape"),
    "huge rng": (dynamic(RNG, f"[4, {2**62}]"), "give no shape"),
    "negative rng": (dynamic(RNG, "[4, -8]"), "give no shape"),
    "pad": (dynamic(PAD, "[0, 0]", "[1, 0]"), "give the shape [5, 8]"),
    "slice": (dynamic(SLICE, "[0, 0]", "[4, 4]", "[1, 1]"), "give the shape [4, 4]"),
    "quantized along a sharded dim": (
        quantized(0, "0.5, 0.25, 0.125, 1.0", f"{{sdy.sharding = {X}}}"),
        "has 4 scales along dim 0, of size 2",
    ),
    "scales of another number": (quantized(1, "0.5, 0.25"), "has 2 scales along dim 1, of size 8"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_run_is_one_error(name: str) -> None:
    written, message = BROKEN[name]
    program = Program.from_text(written)
    with pytest.raises(SdyError) as caught:
        program.verify()
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message
    assert diagnostic.span is not None


ZERO = {
    "sort": ('%0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n'
             "%c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
             "stablehlo.return %c : tensor<i1>\n}) : (tensor<0x6xf32>) -> tensor<0x6xf32>", "0x6"),
    "reshape": ("%0 = stablehlo.reshape %a : (tensor<0x6xf32>) -> tensor<3x0x2xf32>", "3x0x2"),
    "reduce": ("%z = stablehlo.constant dense<1.0> : tensor<f32>\n%0 = stablehlo.reduce(%a init: %z) applies "
               "stablehlo.add across dimensions = [0] : (tensor<0x6xf32>, tensor<f32>) -> tensor<6xf32>", "6"),
    "pad": ("%z = stablehlo.constant dense<1.0> : tensor<f32>\n%0 = stablehlo.pad %a, %z, low = [1, 0], high = [1, 0], "
            "interior = [0, 0] : (tensor<0x6xf32>, tensor<f32>) -> tensor<2x6xf32>", "2x6"),
    "concatenate": ("%0 = stablehlo.concatenate %a, %a, dim = 1 : (tensor<0x6xf32>, tensor<0x6xf32>) "
                    "-> tensor<0x12xf32>", "0x12"),
    "contract": ("%0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<0x6xf32>, tensor<0x6xf32>) "
                 "-> tensor<6x6xf32>", "6x6"),
    "transpose": ("%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<0x6xf32>) -> tensor<6x0xf32>", "6x0"),
}  # fmt: skip


@pytest.mark.parametrize("name", ZERO)
def test_tensors_without_elements(name: str) -> None:
    op, shape = ZERO[name]
    sharding = '#sdy.sharding<@m, [{}, {"x"}]>'
    program = Program.from_text(
        f"{MESH}func.func @main(%a: tensor<0x6xf32> {{sdy.sharding = {sharding}}}) -> tensor<{shape}xf32> {{\n"
        f"  {op}\n  return %0 : tensor<{shape}xf32>\n}}"
    )
    assert program.verify().verdict.value == "the same function"
    assert program.prove().is_proved


def test_elements_of_tuples_are_values() -> None:
    pair = f"tuple<{TYPE}, {TYPE}>"
    op = f"%t = stablehlo.tuple %a, %a : {pair}\n  %0 = stablehlo.get_tuple_element %t[1] : ({pair}) -> {TYPE}"
    program = Program.from_text(text(op, f"{{sdy.sharding = {X}}}"))
    assert result_type(program) == "tensor<2x8xf32>"


def test_unused_scalars_of_arith_are_dropped() -> None:
    op = f"%c = arith.constant 2 : index\n  %d = arith.constant 1.0 : f32\n  %0 = stablehlo.sine %a : {TYPE}"
    assert Program.from_text(text(op)).verify().verdict.value == "the same function"


@pytest.mark.parametrize("count", [1, 2])
def test_elements_of_a_returned_tuple_are_results(count: int) -> None:
    pair = f"tuple<{', '.join([TYPE] * count)}>"
    op = f"%0 = stablehlo.tuple {', '.join(['%a'] * count)} : {pair}"
    written = text(op, f"{{sdy.sharding = {X}}}", result=pair)
    program = Program.from_text(written.replace(f"return %0 : {TYPE}", f"return %0 : {pair}"))
    types = main_function(program.partition().local).function_type.outputs
    assert [str(each) for each in types] == ["tensor<2x8xf32>"] * count
    assert program.verify().verdict.value == "the same function"


def test_shardings_of_some_results_may_be_unknown() -> None:
    op = 'stablehlo.optimization_barrier {mhlo.sharding = "{{unknown}, {devices=[4,2]<=[8]}}"} %a, %a'
    program = Program.from_text(in_main(f"%r:2 = {op} : {TYPE}, {TYPE}\n    return %r#1 : {TYPE}\n"))
    assert notes(program) == []
    assert result_type(program) == "tensor<1x4xf32>"


def test_tuples_of_several_annotated_results_have_a_hint() -> None:
    pair = f"tuple<{TYPE}, {TYPE}>"
    op = f"%0 = stablehlo.tuple %a, %a : {pair}"
    written = text(op, f"{{sdy.sharding = {X}}}", result=f'({pair} {{jax.result_info = "r"}})')
    program = Program.from_text(written.replace(f"return %0 : {TYPE}", f"return %0 : {pair}"))
    with pytest.raises(SdyError) as caught:
        program.partition()
    assert caught.value.diagnostics[0].code == "SDY-T103"
    assert caught.value.diagnostics[0].hint == "use several values"
