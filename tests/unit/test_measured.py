"""The runner of published measurements, on a folder of the same form."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.measured.__main__ import main
from support.measured.errors import error_groups, halves, ordered_pairs, summary
from support.measured.models import kinds_of_layers
from support.measured.pricing import NoProgramError, Priced, priced
from support.measured.published import Row, published_rows
from support.measured.training import Recomputation, layout_of, program_of

STEP = {
    "id": "tiny", "model": "tiny", "family": "llama", "d_model": "256", "d_ff": "512", "layers": "4", "heads": "4",
    "kv_heads": "2", "head_dim": "64", "vocab": "1024", "tied": "0", "model_details": "swiglu", "optimizer": "adamw",
    "weight_dtype": "float32", "activation_dtype": "bfloat16", "optimizer_state_dtype": "float32",
    "sequence": "1024",
    "micro_batches": "1", "global_batch": "8", "devices": "8", "machine": "tpu_v6e", "topology": "2x4",
    "fsdp": "8", "tensor": "1",
    "sharding": "maxtext", "remat": "saved: layer input (offloaded to host); rest recomputed", "quantization": "none",
    "attention": "flash, causal", "step_seconds": "0.01", "confidence": "high",
}  # fmt: skip


def row(**cells: str) -> Row:
    return Row("steps.csv", STEP | cells)


def write(folder: Path, file: str, *rows: dict[str, str]) -> None:
    lines = [",".join(rows[0]), *(",".join(f'"{cell}"' for cell in each.values()) for each in rows)]
    (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_folder_is_priced_and_the_page_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "steps.csv", STEP, STEP | {"id": "sharded", "fsdp": "4", "tensor": "2", "step_seconds": "0.02"})
    collective = {"id": "c", "machine": "h100", "devices": "8", "topology": "1 node", "collective": "all_reduce"}
    write(tmp_path, "collectives.csv", collective | {"dtype": "float32", "bytes": "1073741824", "seconds": "0.004"})
    product = {"id": "r", "machine": "tpu7x", "op": "matmul", "m": "16384", "n": "16384", "k": "16384"}
    write(tmp_path, "rooflines.csv", product | {"dtype": "bfloat16", "seconds": "0.00926", "confidence": "high"})
    page = tmp_path / "measured.md"
    assert main([str(tmp_path), "--write", str(page), "--rows"]) == 0
    out = capsys.readouterr().out
    assert "steps, high confidence" in out
    assert "order of variants: right in" in out
    assert "| collectives from 16 MiB | 1 | " in page.read_text(encoding="utf-8")
    errors = {each[0]: float(each.split("%")[0].split()[-1]) for each in out.splitlines() if each[:2] in ("c ", "r ")}
    assert all(abs(error) < 10 for error in errors.values())  # these two are published


@pytest.mark.parametrize(
    ("text", "device", "host"),
    [
        ("saved: layer input; rest recomputed", {"layer_input"}, set[str]()),
        (
            "saved: layer input, q, k, v projections, out projection (all offloaded to host); rest recomputed",
            set[str](),
            {"layer_input", "query_proj", "key_proj", "value_proj", "out_proj"},
        ),
        (
            "saved: layer input, MLP output (both offloaded to host), k and v projections (device); rest recomputed",
            {"key_proj", "value_proj"},
            {"layer_input", "mlpwo"},
        ),
        (
            "saved: layer input (device), attention output and MLP output (both offloaded to host); rest recomputed",
            {"layer_input"},
            {"context", "mlpwo"},
        ),
        (
            "saved: layer input, MLP (expert) output, both offloaded to host; rest recomputed",
            set[str](),
            {"layer_input", "mlpwo"},
        ),
        (
            "saved: layer input, gate and up projections; rest recomputed",
            {"layer_input", "mlpwi_0", "mlpwi_1"},
            set[str](),
        ),
    ],
)
def test_what_is_stored_of_a_layer_is_read_from_the_text(text: str, device: set[str], host: set[str]) -> None:
    found = Recomputation.of(row(remat=text))
    assert (set(found.device), set(found.host), found.everything) == (device, host, False)
    assert Recomputation.of(row(remat="none: all is saved")).everything


def test_weights_are_gathered_in_each_pass_and_gradients_scattered() -> None:
    cost = program_of(row()).cost("tpu_v6e")
    runs = {(each.kind.value, each.axes): each.runs for each in cost.collectives}
    # Per layer: seven weights in the forward pass, six in the backward pass (`down` is not needed to recompute), and
    # the embedding and the head once.
    assert runs["all-gather", '{"fsdp"}'] >= 4 * (7 + 6) + 2
    assert runs["reduce-scatter", '{"fsdp"}'] >= 4 * 7
    assert cost.attention_seconds > 0
    assert cost.host_seconds == pytest.approx(2 * 4 * 1024 * 256 * 2 / 3.2e10, rel=0.01)  # there and back, each layer


def test_tensor_parallelism_shards_the_sequence_between_blocks() -> None:
    layout = layout_of(row(fsdp="4", tensor="2"))
    assert (layout.batch, layout.between_blocks, layout.model) == (("fsdp",), ("tensor",), ("fsdp",))
    kinds = {each.kind.value for each in program_of(row(fsdp="4", tensor="2")).cost("tpu_v6e").collectives}
    assert {"all-gather", "reduce-scatter"} <= kinds


@pytest.mark.parametrize(
    ("family", "cells"),
    [
        ("gpt3", {"tied": "1"}),
        ("gemma2", {}),  # a family without an entry
        ("olmoe", {"experts": "8", "top_k": "2", "d_ff_expert": "128", "layers": "2"}),
        ("gemma3", {"model_details": "5 of 6 layers local (window 512), every 6th global", "layers": "6"}),
        ("qwen3-moe", {"experts": "8", "top_k": "2", "d_ff_expert": "128", "layers": "2", "model_details": "qk norm"}),
        ("deepseek", {"experts": "8", "top_k": "2", "d_ff_expert": "128", "layers": "2"}),
        ("gpt-oss", {"experts": "8", "top_k": "2", "d_ff_expert": "128", "layers": "2"}),
        (
            "llama4",
            {"experts": "8", "top_k": "1", "d_ff_expert": "128", "layers": "2", "model_details": "odd layers dense"},
        ),
    ],
)
def test_each_family_has_a_program(family: str, cells: dict[str, str]) -> None:
    found = priced(row(family=family, **cells))
    assert found is not None
    assert found.seconds > 0


MEGATRON = {
    "sharding": "megatron: tensor shards heads; experts over expert", "machine": "gb200", "remat": "not stated",
    "fsdp": "1", "data": "2", "expert": "4", "micro_batches": "4", "global_batch": "32", "family": "qwen3-moe",
    "experts": "8", "top_k": "2", "d_ff_expert": "128", "model_details": "qk norm",
}  # fmt: skip


def test_gradients_of_megatron_are_summed_once_a_step_and_tokens_exchanged_in_each_micro_batch() -> None:
    cost = program_of(row(**MEGATRON)).cost("gb200")
    runs = {(each.kind.value, each.axes): each.runs for each in cost.collectives}
    weights = 4  # q, k, v, out; the router, the embedding and the head
    assert runs["reduce-scatter", '{"data", "expert"}'] == weights + 3
    assert runs["reduce-scatter", '{"data"}'] == 3  # of the experts, which are on the devices of `expert`
    assert runs["all-to-all", '{"expert"}'] == 4 * 4 * 4  # layers, micro-batches, there and back in both passes


def test_devices_of_tensor_parallelism_divide_the_tokens_of_experts() -> None:
    cells = MEGATRON | {"data": "1", "micro_batches": "1", "layers": "1"}
    sent = [
        sum(
            each.bytes_sent
            for each in program_of(row(**cells, tensor=tensor)).cost("gb200").collectives
            if each.kind.value == "all-to-all"
        )
        for tensor in ("1", "2")
    ]
    assert sent[1] == pytest.approx(sent[0] / 2)


def test_the_sequence_of_megatron_is_divided_so_that_devices_have_equally_much_to_do() -> None:
    cells = {"family": "llama", "experts": "", "data": "1", "expert": "1", "context": "4", "sequence": "16384"}
    alone = program_of(row(**MEGATRON | cells | {"context": "1", "sequence": "8192", "devices": "1"})).cost("gb200")
    shared = program_of(row(**MEGATRON | cells)).cost("gb200")
    assert shared.attention_seconds == pytest.approx(alone.attention_seconds, rel=0.1)  # 4 times as much, on 4 devices


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"machine": "abacus"}, "sdy has no machine abacus"),
        ({"model_details": "3 of 4 layers are gated delta nets"}, "gated delta nets have no program"),
        ({"global_batch": "3"}, "its program cannot be built: IndivisibleError"),
        ({"optimizer_state_dtype": "float32", "d_model": "wide"}, "its program cannot be built: ValueError"),
        ({"step_seconds": "about 3"}, "its program cannot be built: ValueError"),
        ({"step_seconds": "0"}, "no positive time is published"),
    ],
)
def test_a_row_without_a_program_is_named_with_the_reason(
    cells: dict[str, str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NoProgramError, match=reason):
        priced(row(**cells))
    write(tmp_path, "steps.csv", STEP | cells)
    page = tmp_path / "measured.md"
    assert main([str(tmp_path), "--write", str(page)]) == 0
    assert f"tiny: {reason}" in capsys.readouterr().out
    assert f"1 ({reason}" in page.read_text(encoding="utf-8")


def test_whole_numbers_are_read_as_people_write_them() -> None:
    assert [row(sequence=text).count("sequence") for text in ("8192", "8,192", "8192.0", "")] == [8192] * 3 + [1]


def test_keys_and_values_are_replicated_if_their_heads_cannot_be_divided() -> None:
    few = row(fsdp="2", tensor="4", kv_heads="2")
    weights = kinds_of_layers(few, layout_of(few))[0].weights
    assert (weights["q"].used[1], weights["k"].used[1]) == (("tensor",), ())
    assert priced(few).seconds > 0


def test_an_op_without_published_shapes_has_no_time() -> None:
    with pytest.raises(NoProgramError, match="the shapes of flash_attention_2 are not published"):
        priced(Row("rooflines.csv", {"op": "flash_attention_2", "machine": "h100", "dtype": "float16"}))


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"devices": "1"}, "a collective of one device takes no time"),
        ({"collective": "broadcast"}, "no program has the collective broadcast"),
    ],
)
def test_a_collective_without_a_program_is_named(cells: dict[str, str], reason: str) -> None:
    known = {"machine": "h100", "devices": "8", "collective": "all_reduce", "bytes": "1e6", "seconds": "1e-4"}
    assert priced(Row("collectives.csv", known | {"dtype": "bf16"})).seconds > 0
    with pytest.raises(NoProgramError, match=reason):
        priced(Row("collectives.csv", known | {"dtype": "bf16"} | cells))


def test_errors_are_grouped_and_pairs_ordered() -> None:
    one, other = Priced(row(), 0.011), Priced(row(fsdp="4", tensor="2", step_seconds="0.02"), 0.015)
    assert (one.error, other.error) == (pytest.approx(0.1), pytest.approx(-0.25))
    count, middle, size, most = summary([one, other])
    assert (count, middle, size, most) == (2, pytest.approx(-0.075), pytest.approx(0.175), pytest.approx(0.25))
    assert halves([one, other]) is None
    parts = halves([Priced(row(id=str(number)), 0.01 + number / 1000) for number in range(12)])
    assert parts is not None
    assert 0 < parts[0] < 1.1 > parts[1] > 0
    assert ordered_pairs([one, other]) == (1, 1)
    assert ordered_pairs([one, Priced(other.row, 0.001)]) == (0, 1)
    assert [name for name, _ in error_groups([one])] == [
        "steps, high confidence",
        "steps on tpu_v6e",
        "steps of llama",
    ]


def test_missing_files_are_empty(tmp_path: Path) -> None:
    assert list(published_rows(tmp_path, "steps.csv")) == []
