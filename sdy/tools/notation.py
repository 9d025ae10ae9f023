"""`sdy notation`: converts a sharding to all notations, and prints the local shape and its bytes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sdy.report.notation import notations, read_any, read_mesh, read_tensor
from sdy.tools.command_line.arguments import add_json_argument, print_json
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = """\
Read a sharding in one of these notations, and print it in all of them:

  sdy              <@mesh, [{"x"}, {"y":(1)2}]>
  PartitionSpec    P('x', 'y:(1)2')
  HLO sharding     {devices=[4,2,2]<=[16] last_tile_dim_replicate}
  subscripts       A[I_X, J_{YZ}] {U_W}
  placements       [Shard(0), _StridedShard(1, split_factor=2), Partial("sum")]   of a DTensor of PyTorch

HLO shardings have no axis names: without --mesh, a mesh with new axis names is used.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("notation", DESCRIPTION)
    parser.add_argument("text", help="the sharding to convert")
    parser.add_argument("--mesh", help='the mesh: x=4,y=2 or <["x"=4, "y"=2]>')
    parser.add_argument("--shape", help="the type of the tensor: f32[1024,4096] or 1024x4096xf32")
    add_json_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Read the sharding, and print it in all notations."""
    tensor = None if arguments.shape is None else read_tensor(arguments.shape)
    mesh = None if arguments.mesh is None else read_mesh(arguments.mesh)
    sharding, mesh = read_any(arguments.text, mesh, None if tensor is None else len(tensor.shape))
    rows = dict(notations(sharding, mesh, tensor))
    if arguments.json:
        print_json({"notations": rows})
    else:
        for name, text in rows.items():
            print(f"{name:15}{text}")
    return SUCCESS
