"""Programs that run in parallel and communicate with each other and the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.execution.run_text import error_of, i32, run

from sdy.interpreter.host import Host

SEND = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true"
TRANSFER = f"""
    func.func @send(%a: tensor<i32>, %t: !stablehlo.token) -> !stablehlo.token {{
      %0 = "stablehlo.send"(%a, %t) <{{{SEND}}}> : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
      return %0 : !stablehlo.token
    }}
    func.func @recv(%t: !stablehlo.token) -> (tensor<i32>, !stablehlo.token) {{
      %0:2 = "stablehlo.recv"(%t) <{{{SEND}}}> : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
      return %0#0, %0#1 : tensor<i32>, !stablehlo.token
    }}
"""
RECV_FIRST = """
    func.func @main(%a: tensor<i32>) -> tensor<i32> {
      %s = stablehlo.create_token : !stablehlo.token
      %t = stablehlo.after_all %s, %s : !stablehlo.token
      %0:3 = "interpreter.run_parallel"(%t, %a, %t) <{programs = [[@recv], [@send]]}>
        : (!stablehlo.token, tensor<i32>, !stablehlo.token) -> (tensor<i32>, !stablehlo.token, !stablehlo.token)
      return %0#0 : tensor<i32>
    }"""


def test_a_receiver_waits_for_its_sender() -> None:
    (result,) = run(RECV_FIRST + TRANSFER, np.array(42, np.int32))
    assert result == 42


def test_a_receiver_to_which_nobody_sends_is_an_error() -> None:
    found = error_of(
        TRANSFER
        + """
        func.func @main() {
          %t = stablehlo.create_token : !stablehlo.token
          %0:2 = call @recv(%t) : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
          return
        }"""
    )
    assert found.code == "SDY-X010"
    assert "channel 1" in found.message
    assert found.span is not None


def test_source_target_pairs_select_the_receiver() -> None:
    handle = "channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>"
    pairs = f"{handle}, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>"
    results = run(
        f"""
        func.func @shift(%a: tensor<i32>) -> tensor<i32> {{
          %t = stablehlo.create_token : !stablehlo.token
          %0 = "stablehlo.send"(%a, %t) <{{{pairs}}}> : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
          %1:2 = "stablehlo.recv"(%0) <{{{pairs}}}> : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
          return %1#0 : tensor<i32>
        }}
        func.func @main(%a: tensor<i32>, %b: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>) {{
          %0:3 = "interpreter.run_parallel"(%a, %b, %b) <{{programs = [[@shift, @shift, @shift]]}}>
            : (tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>)
          return %0#0, %0#1, %0#2 : tensor<i32>, tensor<i32>, tensor<i32>
        }}""",
        np.array(5, np.int32),
        np.array(6, np.int32),
    )
    assert [int(result) for result in results] == [0, 5, 6]


FEED = """
    func.func @one() -> tensor<i32> {
      %0 = stablehlo.constant dense<1> : tensor<i32>
      return %0 : tensor<i32>
    }
    func.func @two() -> tensor<i32> {
      %0 = stablehlo.constant dense<2> : tensor<i32>
      return %0 : tensor<i32>
    }
    func.func @program() -> tensor<i32> {
      %t = stablehlo.create_token : !stablehlo.token
      %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
      %1 = "stablehlo.outfeed"(%0#0, %0#1) : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
      return %0#0 : tensor<i32>
    }
    func.func @main() -> (tensor<i32>, tensor<i32>) {
      %0:2 = "interpreter.run_parallel"() <{infeed = [@one, @two], programs = [[@program], [@program]]}>
        : () -> (tensor<i32>, tensor<i32>)
      return %0#0, %0#1 : tensor<i32>, tensor<i32>
    }"""


def test_devices_are_fed_one_after_the_other() -> None:
    host = Host()
    assert [int(result) for result in run(FEED, host=host)] == [1, 2]
    assert [int(held[0]) for held in host.outfeed] == [1, 2]


def test_a_feed_that_is_empty_is_an_error() -> None:
    assert error_of(FEED.replace("[@one, @two]", "[@one]")).code == "SDY-X011"


def test_programs_form_a_grid_that_fits_inputs() -> None:
    assert error_of(
        RECV_FIRST.replace("[[@recv], [@send]]", "[[@recv], [@send, @send]]") + TRANSFER, i32(0)[0]
    ).code == ("SDY-X013")
    found = error_of(RECV_FIRST.replace("[[@recv], [@send]]", "[[@recv], [@recv]]") + TRANSFER, i32(0)[0])
    assert found.code == "SDY-X013"
    assert "expected 2 inputs for the arguments of all programs, got 3" in found.message


def test_printed_values_have_their_name() -> None:
    written: list[str] = []
    run(
        """func.func @main(%a: tensor<2xi32>) {
          %x = stablehlo.add %a, %a : tensor<2xi32>
          interpreter.print %x : tensor<2xi32>
          return
        }""",
        i32(1, 2),
        host=Host(write=written.append),
    )
    assert "".join(written) == "%0 = tensor<2xi32> {\n  [2, 4]\n}\n"


PROBE = """func.func @main(%a: tensor<2xi32>) {
  %0 = interpreter.probe %a, probe_id = "my/probe" : tensor<2xi32>
  %1 = stablehlo.add %0, %0 : tensor<2xi32>
  %2 = interpreter.probe %1, probe_id = "my/probe" : tensor<2xi32>
  check.expect_serialized_eq %1, probe_id = "my/probe", iter = 1 : tensor<2xi32>
  return
}"""


def test_probes_keep_what_they_see(tmp_path: Path) -> None:
    host = Host(probe_folder=tmp_path)
    run(PROBE, i32(1, 2), host=host)
    assert [value.tolist() for value in host.probes["my/probe"]] == [[1, 2], [2, 4]]
    assert np.load(tmp_path / "my_probe_1.npy").tolist() == [2, 4]


def test_a_value_that_no_probe_saw_is_an_error() -> None:
    found = error_of(PROBE.replace("iter = 1", "iter = 5"), i32(1, 2))
    assert found.code == "SDY-X014"
    assert "it saw 2" in found.message


def all_gather_on_four_devices(result_size: int) -> str:
    kind = f"tensor<{result_size}xi32>"
    return f"""
    func.func @gather(%a: tensor<1xi32>) -> {kind} {{
      %0 = "stablehlo.all_gather"(%a) <{{
        all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>
      }}> : (tensor<1xi32>) -> {kind}
      return %0 : {kind}
    }}
    func.func @main(%a: tensor<1xi32>, %b: tensor<1xi32>, %c: tensor<1xi32>, %d: tensor<1xi32>) -> {kind} {{
      %0:4 = "interpreter.run_parallel"(%a, %b, %c, %d) <{{programs = [[@gather, @gather], [@gather, @gather]]}}>
        : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> ({kind}, {kind}, {kind}, {kind})
      return %0#0 : {kind}
    }}"""


def test_groups_of_replicas_contain_all_partitions_of_each() -> None:
    (result,) = run(all_gather_on_four_devices(4), *(i32(number) for number in range(4)))
    assert result.tolist() == [2, 0, 3, 1]


def test_result_types_must_match_the_number_of_devices() -> None:
    found = error_of(all_gather_on_four_devices(2), *(i32(number) for number in range(4)))
    assert (found.code, found.span is not None) == ("SDY-X009", True)
    assert found.message == "dim 0 of tensor<2xi32> must be 4, 1 on each of the 4 devices of a group, got 2"
