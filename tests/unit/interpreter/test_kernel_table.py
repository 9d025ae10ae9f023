from __future__ import annotations

from xdsl.dialects.func import Func
from xdsl.traits import IsTerminator

from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.interpreter_dialect import CHECK, INTERPRETER
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.interpreter.ops.all import KERNELS

WITHOUT_KERNEL = {
    "chlo._asin_acos_kernel": "a step of the lowering of asin and acos, which no program writes",
    "func.func": "a function runs where it is called",
    "stablehlo.async_done": "gives the slots of the future, and computes nothing",
    "stablehlo.get_tuple_element": "is one of the slots of the tuple",
    "stablehlo.tuple": "is the slots of its elements",
    "stablehlo.uniform_dequantize": "changes what is stored for floats, and nothing else",
    "stablehlo.uniform_quantize": "changes what is stored for floats, and nothing else",
}


def test_every_op_has_a_kernel_or_a_reason() -> None:
    ops = [op for dialect in (STABLEHLO, CHLO, CHECK, INTERPRETER, SDY, Func) for op in dialect.operations]
    unknown = {op.name for op in ops if op not in KERNELS and not op.has_trait(IsTerminator)}
    assert unknown == WITHOUT_KERNEL.keys()
