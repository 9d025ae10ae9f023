"""A dialect that a language server loads."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

import sdy
from sdy.extend import Elementwise


@irdl_op_definition
class HalveOp(IRDLOperation):
    """Halve each element."""

    name = "halves.halve"
    x = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure(), Elementwise())


sdy.register_dialect(Dialect("halves", [HalveOp]))
