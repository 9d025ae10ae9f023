"""Verification of a module again and again, as passes change it: only what has changed, and what depends on it."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.meshes import meshes_of
from sdy.dialects.verification.attribute_checks import AttributeChecks
from sdy.dialects.verification.op_checks import OpChecks
from sdy.dialects.verification.recheck import OpsToRecheck, Recheck
from sdy.dialects.verification.sdy_scope import Scope
from sdy.dialects.verification.snapshot import Snapshot
from sdy.dialects.verification.verify_module import verify_module


class VerifiedModule:
    """A module that was valid when it was last verified."""

    def __init__(self, module: ModuleOp) -> None:
        """Verify all of the module. Raises: SdyError for the first problem."""
        self._module = module
        self._op_checks, self._attribute_checks = OpChecks(), AttributeChecks()
        self._verify_all()

    def verify(self) -> None:
        """Verify what has changed since the last verification, and what depends on it.

        Raises: SdyError for the first problem in the module, the same as `verify_module`.
        """
        changes = self._snapshot.update()
        if not changes.any():
            return
        functions_before, meshes_before = len(self._ops.functions), self._ops.meshes
        if changes.order:
            self._ops = OpsToRecheck(self._snapshot.tree)
        meshes = self._ops.meshes
        if not self._ops.is_usual or meshes != meshes_before or any(id(op) in changes.touched for op in meshes):
            self._verify_all()
            return
        recheck = Recheck(self._module, self._ops, self._scope, self._op_checks, self._attribute_checks)
        try:
            recheck.check(changes, functions_before)
        except SdyError:
            verify_module(self._module)  # raises the error for the first problem
            raise

    def _verify_all(self) -> None:
        verify_module(self._module, self._op_checks, self._attribute_checks)
        self._snapshot = Snapshot(self._module)
        self._ops = OpsToRecheck(self._snapshot.tree)
        self._scope = Scope(meshes_of(self._module))
