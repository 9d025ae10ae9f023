"""Run passes on a module, in order, and verify it after each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Note, SdyError
from sdy.diagnostics.progress import note_step
from sdy.diagnostics.user_code import is_code_of_user, user_code_error
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import located
from sdy.dialects.verification.recheck import VerifiedModule
from sdy.passes.rewriting.op_order import caching_order, one_pass
from sdy.passes.timings import VERIFICATION, Timings

Verification = Callable[[], None]
PassObserver = Callable[[ModulePass, ModuleOp], None]


class Pipeline(ModulePass):
    """A pass that runs a sequence of passes."""

    @abstractmethod
    def passes(self) -> Sequence[ModulePass]:
        """Return the passes in the order in which they run."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run all passes without verifying between them."""
        with caching_order(op):
            for each in flattened([self]):
                with one_pass():
                    each.apply(ctx, op)


def flattened(passes: Sequence[ModulePass]) -> Iterator[ModulePass]:
    """Yield the passes, with each pipeline replaced by its passes."""
    for each in passes:
        if isinstance(each, Pipeline):
            yield from flattened(each.passes())
        else:
            yield each


def run_passes(
    ctx: Context,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    *,
    verify_each: bool = True,
    verify: Verification | None = None,
    before: PassObserver | None = None,
    after: PassObserver | None = None,
    failed: PassObserver | None = None,
    timings: Timings | None = None,
) -> None:
    """Run the passes on the module, in place. `before` and `after` are called around each pass; `failed` is called
    instead of `after` for a pass that fails, or that produces an invalid module.

    `verify` verifies the module after each pass. By default, all of it is verified after the first pass, and later only
    what a pass has changed and what depends on it. `timings` gets the time of each pass and of the verification.
    Raises: SdyError of the first pass that fails, or that produces an invalid module.
    """
    timings = timings or Timings()
    with garbage_collection_paused(), caching_order(module), ExitStack() as stack:
        for each in flattened(passes):
            if before is not None:
                before(each, module)
            note_step(each.name)
            try:
                with timings.measure(each.name), one_pass():
                    _apply(each, ctx, module)
                if verify_each:
                    with timings.measure(VERIFICATION), _naming(each):
                        if verify is None:
                            verify = stack.enter_context(VerifiedModule(module).listening()).verify
                        else:
                            verify()
            except SdyError:
                if failed is not None:
                    failed(each, module)
                raise
            if after is not None:
                after(each, module)


@contextmanager
def _naming(each: ModulePass) -> Generator[None]:
    """Note in the diagnostics of a verification which pass ran before it."""
    try:
        yield
    except SdyError as error:
        note = Note(f"after pass {each.name}, whose result is not valid")
        raise SdyError(*(replace(found, notes=(*found.notes, note)) for found in error.diagnostics)) from error


def _apply(each: ModulePass, ctx: Context, module: ModuleOp) -> None:
    """Apply a pass. Raises: SdyError SDY-T009 if a pass that a user registered raises another exception."""
    try:
        each.apply(ctx, module)
    except SdyError as error:
        raise located(error, module) from error
    except Exception as error:  # the code of the user may raise anything
        if not is_code_of_user(type(each), or_of_xdsl=True):
            raise
        hint = "fix the error in the pass; SDY_LOG=debug prints the traceback"
        raise user_code_error("SDY-T009", f"pass {each.name}", error, hint) from error
