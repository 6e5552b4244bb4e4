#!/usr/bin/python3
"""A client that fetches ….records and ….highres_records together and checks the arrays byte by byte.

usage: /usr/bin/python3 bothres.py HOST STREAM PARAMETER INTERVAL LAST     STREAM is apm.mono.event.sample
Fetches until PARAMETER has had the value LAST (a minute at most).  Prints what differs, or `same N` with the number of
records.  Needs PCP's Python module, so not any python3 will do.
"""

import ctypes
import struct
import sys
import time

import cpmapi
from pcp import pmapi


def array(value):
    """The bytes of an event array."""
    address = ctypes.addressof(value.value.pval.contents)
    word, = struct.unpack("=I", ctypes.string_at(address, 4))
    return word >> 24, ctypes.string_at(address, word & 0xFFFFFF)


def records(data, head, wanted):
    """(time in microseconds, value of the wanted parameter) of each record; every byte must belong to one."""
    found, at, (count,) = [], 8, struct.unpack_from("=i", data, 4)
    for _ in range(count):
        sec, fraction, flags, parameters = struct.unpack_from(head, data, at)
        at += struct.calcsize(head)
        stamp, number = sec * 1000000 + (fraction if head == "=iiIi" else fraction // 1000), None
        assert flags == 1, f"flags {flags:#x}"
        for _ in range(parameters):
            pmid, word = struct.unpack_from("=II", data, at)
            length = (word & 0xFFFFFF) - 4
            if pmid == wanted:
                number, = struct.unpack_from("=Q", data, at + 8)
            at += 8 + (length + 3) // 4 * 4
        found.append((stamp, number))
    assert at == len(data), f"{len(data) - at} bytes are left over"
    return found


def main(host, stream, parameter, pause, last):
    context = pmapi.pmContext(cpmapi.PM_CONTEXT_HOST, host)
    ids = context.pmLookupName([stream + ".records", stream + ".highres_records"])
    wanted, = context.pmLookupName([parameter])
    total, end = 0, time.monotonic() + 300
    while time.monotonic() < end:
        result = context.pmFetch(ids)
        both = []
        for i, (kind, head) in enumerate([(cpmapi.PM_TYPE_EVENT, "=iiIi"), (cpmapi.PM_TYPE_HIGHRES_EVENT, "=qqIi")]):
            assert result.contents.get_numval(i) == 1, "one instance"
            found, data = array(result.contents.get_vlist(i, 0))
            assert found == kind, f"type {found}"
            both.append(records(data, head, wanted))
        context.pmFreeResult(result)
        assert both[0] == both[1], f"{both[0][:3]} and {both[1][:3]}"
        assert [n for _, n in both[0]] == list(range(total, total + len(both[0]))), "not in order"
        total += len(both[0])
        if both[0] and both[0][-1][1] == int(last):
            break
        time.sleep(float(pause))
    print("same", total, flush=True)
    time.sleep(1000)


if __name__ == "__main__":
    main(*sys.argv[1:])
