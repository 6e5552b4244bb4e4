#!/usr/bin/env python3
"""Mono programs of the scene without our module: captures of log profilers, played over and over as if they happened now, until
TERM. Each is another program, whose name stands in place of the captured one. The port is that of MONO_PORT. Standard library only.
"""

import os
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, ".."))
import mlpd  # noqa: E402

CORPUS = os.path.join(HERE, "../../corpus/mono")
# A program's name, its capture, and the name that the program had there, which is as long.
PROGRAMS = [("Goods.exe", "scene/shop", "Goods.exe"), ("Price.exe", "scene/shop", "Goods.exe")]
LOWEST_PID = 200_000
# The last second is the end of the program.
SECOND = 1_000_000_000


def program(name, capture, captured, pid):
    data = mlpd.capture(os.path.join(CORPUS, capture + ".mlpd.gz")).replace(captured.encode(), name.encode())
    (_, header), *buffers = mlpd.pieces(mlpd.with_pid(data, pid))
    start = struct.unpack_from("<Q", header, 16)[0]
    end = buffers[-1][0] - SECOND
    buffers = [(when, piece) for when, piece in buffers if when < end]
    span = max(when for when, _ in buffers) - start + SECOND
    while True:
        try:
            to = mlpd.Connection(int(os.environ["MONO_PORT"]))
            ahead = time.monotonic_ns() - start
            to.write(header[:8] + struct.pack("<QQ", int(time.time()) * 1000, start + ahead) + header[24:])
            while True:
                for when, piece in buffers:
                    time.sleep(max(0, when + ahead - time.monotonic_ns()) / SECOND)
                    to.write(piece[:8] + struct.pack("<Q", when + ahead) + piece[16:])
                ahead += span
        except OSError as error:
            print(f"{name}: {error}; once more", flush=True)
            time.sleep(1)


def main():
    for number, played in enumerate(PROGRAMS):
        threading.Thread(target=program, args=(*played, LOWEST_PID + number), daemon=True).start()
        # Two with the same capture differ.
        time.sleep(0.7)
    threading.Event().wait()


if __name__ == "__main__":
    main()
