"""Verification of a module again and again, as passes change it: only what has changed, and what depends on it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.edit_log import EditLog, watch
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.verification.attribute_checks import AttributeChecks
from sdy.dialects.verification.changes import Changes
from sdy.dialects.verification.op_checks import OpChecks
from sdy.dialects.verification.recheck import BlockOrder, OpsToRecheck, Recheck
from sdy.dialects.verification.sdy_scope import Scope
from sdy.dialects.verification.verify_module import verify_module


class VerifiedModule:
    """A module that was valid when it was last verified. It may be changed only within `listening`."""

    def __init__(self, module: ModuleOp) -> None:
        """Verify all of the module. Raises: SdyError for the first problem."""
        self._module = module
        self._op_checks = OpChecks()
        self._attribute_checks = AttributeChecks(self._op_checks.numbers)
        self._edits = EditLog()
        self._verify_all()
        watch((module, *pre_order(module)))

    @contextmanager
    def listening(self) -> Generator[Self, None, None]:
        """Notice what is changed."""
        with self._edits.listening():
            yield self

    def verify(self) -> None:
        """Verify what has changed since the module was last valid, and what depends on it.

        Raises: SdyError for the first problem in the module, the same as `verify_module`.
        """
        if self._edits.is_empty():
            return
        changes = Changes.of(self._module, self._edits)
        watch(changes.touched.values())
        self._order.forget(list(self._edits.placed))
        functions_before, meshes_before = len(self._ops.functions), self._ops.meshes
        self._ops.update(changes)
        meshes = self._ops.meshes
        if not self._ops.is_usual or meshes != meshes_before or any(id(op) in changes.touched for op in meshes):
            self._verify_all()
        else:
            self._verify_changes(changes, functions_before)
        self._edits.clear()

    def _verify_changes(self, changes: Changes, functions_before: int) -> None:
        recheck = Recheck(self._module, self._ops, self._order, self._scope, self._op_checks, self._attribute_checks)
        try:
            recheck.check(changes, functions_before)
        except SdyError:
            verify_module(self._module)  # raises the error for the first problem
            raise

    def _verify_all(self) -> None:
        verify_module(self._module, self._op_checks, self._attribute_checks)
        self._ops, self._order = OpsToRecheck(self._module), BlockOrder()
        self._scope = Scope(meshes_of(self._module))
