"""Values out of the results of libpcp, many at once."""

import ctypes
import struct

from pcp import pmapi
import cpmapi as c

NUMBERS = {c.PM_TYPE_32: ctypes.c_int32, c.PM_TYPE_U32: ctypes.c_uint32, c.PM_TYPE_64: ctypes.c_int64, c.PM_TYPE_U64: ctypes.c_uint64,
           c.PM_TYPE_FLOAT: ctypes.c_float, c.PM_TYPE_DOUBLE: ctypes.c_double}
SETS, LIST, VALUE = pmapi.pmResult.vset.offset, pmapi.pmValueSet.vlist.offset, ctypes.sizeof(pmapi.pmValue)
POINTER = ctypes.sizeof(ctypes.c_void_p)
# A value is an instance and a pointer to a block, or an instance and 32 bits (PM_VAL_INSITU).
BLOCKS = struct.Struct("=i4xQ" if POINTER == 8 else "=iI")
IN_SITU = struct.Struct("=i4x4s4x" if POINTER == 8 else "=i4s")


def ns(stamp):
    """A time of libpcp, in ns since 1970: PCP 7 has other structures than 6."""
    return stamp.tv_sec * 10**9 + (stamp.tv_nsec if hasattr(stamp, "tv_nsec") else stamp.tv_usec * 1000)


def when(result):
    """The time of a result, in ns since 1970."""
    return ns(result.contents.timestamp)


def sets(result):
    """(metric's id, where its set of values is) of each metric of a result that has values."""
    at = ctypes.addressof(result.contents) + SETS
    for where in (ctypes.c_void_p * result.contents.numpmid).from_address(at):
        pmid, number = struct.unpack("=Ii", ctypes.string_at(where, 8))
        if number > 0:
            yield pmid, where


def values(where, kind):
    """(instance, value) of a set of values of this type: numbers and texts."""
    number, form = struct.unpack("=ii", ctypes.string_at(where + 4, 8))
    data = ctypes.string_at(where + LIST, number * VALUE)
    of = NUMBERS.get(kind)
    if form == c.PM_VAL_INSITU:
        return [(inst, of.from_buffer_copy(raw).value) for inst, raw in IN_SITU.iter_unpack(data)] if of else []
    if of:
        return [(inst, of.from_address(block + 4).value) for inst, block in BLOCKS.iter_unpack(data)]
    if kind == c.PM_TYPE_STRING:
        return [(inst, text(block)) for inst, block in BLOCKS.iter_unpack(data)]
    return [(inst, b"") for inst, _ in BLOCKS.iter_unpack(data)]


def text(block):
    """The text of a block: a word with its length, then the bytes, whose end is the first NUL."""
    length = ctypes.c_uint32.from_address(block).value & 0xFFFFFF
    return ctypes.string_at(block + 4, max(0, length - 4)).split(b"\0")[0].decode("utf-8", "replace")
