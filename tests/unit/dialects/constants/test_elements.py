"""Tests that encoding several elements at once gives the same bytes as encoding them one by one."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import IntegerType, Signedness

from sdy.dialects.constants.elements import Scalar, codec_of

WIDTHS = (1, 2, 4, 8, 16, 24, 32, 64)


@pytest.mark.parametrize("signedness", Signedness)
@pytest.mark.parametrize("width", WIDTHS)
def test_encode_all_matches_encode(width: int, signedness: Signedness) -> None:
    codec = codec_of(IntegerType(width, signedness))
    assert codec is not None
    low = 0 if signedness is Signedness.UNSIGNED else -(1 << (width - 1))
    high = (1 << (width - (signedness is Signedness.SIGNED))) - 1
    values: tuple[Scalar, ...] = (low, 0, high)
    raw = codec.encode_all(values)
    assert raw == b"".join(map(codec.encode, values))
    assert codec.decode_all(raw) == tuple(
        codec.decode(raw[i : i + codec.byte_width]) for i in range(0, len(raw), codec.byte_width)
    )
    for wrong in (low - 1, high + 1, 0.5):
        with pytest.raises(ValueError, match=rf"^expected an integer from {low} to {high}, got {wrong}$"):
            codec.encode_all((0, wrong))
