"""Whole numbers in as few bytes as they need.

Wire:   7 bits a byte, the lowest first; the top bit says that more follow.
Source: hg 7.2.4, mercurial/util.py (uvarintencode).
"""

from __future__ import annotations


def format_uvarint(number: int) -> bytes:
    """`number` is 0 or more. The first two cases are nearly all, and called for each file."""
    if number < 0x80:
        return bytes((number,))
    if number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)
