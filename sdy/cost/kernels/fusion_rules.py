"""The fusions that the compilers of each kind of machine make.

Sources: XLA's `InstructionFusion` and `MultiOutputFusion` (loops, outputs), which run on all targets; on TPU, XLA fuses
elementwise ops into the operands and the result of a product ("convolution fusions" in its profiles), while on GPU and
CPU a library computes products. Flash attention is a kernel of cuDNN and of PyTorch on GPU, and of Pallas on TPU.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FusionRules:
    """The fusions that a compiler makes.

    `loops`: elementwise ops, broadcasts, slices and the like into the ops that read them, reductions among these.
    `outputs`: an op whose result is stored too. `product_operands`, `product_results`: ops before and after a matrix
    product into its kernel. `attention`: scores, mask, softmax and products of attention into one kernel.
    `repeats_functions`: functions such as `exp` are computed in every kernel that reads them, if that moves fewer
    bytes.
    """

    loops: bool = True
    outputs: bool = False
    product_operands: bool = False
    product_results: bool = False
    attention: bool = False
    repeats_functions: bool = False


UNFUSED = FusionRules(loops=False)
FUSION_RULES = {
    "none": UNFUSED,
    "eager": FusionRules(loops=False, attention=True),
    "cpu": FusionRules(),
    "gpu": FusionRules(outputs=True, attention=True, repeats_functions=True),
    "tpu": FusionRules(
        outputs=True, product_operands=True, product_results=True, attention=True, repeats_functions=True
    ),
}
