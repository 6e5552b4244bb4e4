#!/usr/bin/env python3
"""Takes runtimes out of programs that carry them, and puts another program beside them.

usage: layout.py shared APP OUT           a self-contained program's folder as a shared installation (host/fxr, shared)
       layout.py unpack FILE OUT          the assemblies of a single-file program
       layout.py pack FILE DLL NAME OUT   the same host and framework with another program
Standard library only.
"""

import glob
import json
import os
import shutil
import struct
import sys

# Marks the place of the bundle's offset in a single-file host.
MARK = bytes.fromhex("8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae")
ASSEMBLY, NATIVE, DEPS, CONFIG = 1, 2, 3, 4


def shared(app, out):
    """The frameworks of a self-contained program, each in shared/NAME/VERSION."""
    deps = json.load(open(glob.glob(f"{app}/*.deps.json")[0], encoding="utf-8"))
    target = deps["runtimeTarget"]["name"]
    for pack, content in deps["targets"][target].items():
        if not pack.startswith("runtimepack."):
            continue
        name, version = pack.removeprefix("runtimepack.").split("/")
        name = name.split(".Runtime.")[0]
        folder = f"{out}/shared/{name}/{version}"
        os.makedirs(folder, exist_ok=True)
        for file in (*content.get("runtime", {}), *content.get("native", {})):
            if os.path.exists(f"{app}/{file}"):
                shutil.copy(f"{app}/{file}", folder)
        library = {f"{name}.Runtime/{version}": content}
        about = {"runtimeTarget": {"name": target, "signature": ""}, "compilationOptions": {},
                 "targets": {target.split("/")[0]: {}, target: library},
                 "libraries": {k: {"type": "package", "serviceable": True, "sha512": ""} for k in library}}
        json.dump(about, open(f"{folder}/{name}.deps.json", "w", encoding="utf-8"))
        if name == "Microsoft.NETCore.App":
            os.makedirs(f"{out}/host/fxr/{version}", exist_ok=True)
            shutil.copy(f"{app}/libhostfxr.so", f"{out}/host/fxr/{version}")


class Cursor:
    def __init__(self, data, at):
        self.data, self.at = data, at

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def text(self):
        size = shift = 0
        while True:
            byte = self.take("B")
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        self.at += size
        return self.data[self.at - size:self.at].decode()


def prefixed(text):
    data, size, out = text.encode(), len(text.encode()), b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return out + bytes([size]) + data


def bundle(path):
    """(bytes, version, [(name, kind, content)], where the first file begins)"""
    data = open(path, "rb").read()
    c = Cursor(data, struct.unpack_from("<q", data, data.index(MARK) - 8)[0])
    major, minor, count = c.take("IIi")
    c.text()
    if major >= 2:
        c.take("qqqqQ")
    files, first = [], len(data)
    for _ in range(count):
        offset, size = c.take("qq")
        packed = c.take("q") if major >= 6 else 0
        kind, name = c.take("B"), c.text()
        if packed:
            raise SystemExit(f"{path}: compressed files are not read")
        files.append((name, kind, data[offset:offset + size]))
        first = min(first, offset)
    return data, (major, minor), files, first


def unpack(path, out):
    os.makedirs(out, exist_ok=True)
    for name, kind, content in bundle(path)[2]:
        if kind == ASSEMBLY and "/" not in name:
            open(f"{out}/{name}", "wb").write(content)


def pack(path, dll, name, out):
    data, version, files, first = bundle(path)
    host = bytearray(data[:first])
    # The host has the name of its program in a field of zeros.
    old = os.path.basename(path).encode() + b".dll"
    at = host.index(old + bytes(16))
    host[at:at + len(old)] = bytes(len(old))
    host[at:at + len(name) + 4] = name.encode() + b".dll"
    config = json.loads(next(content for _, kind, content in files if kind == CONFIG))
    framework = config["runtimeOptions"]["includedFrameworks"][0]
    keep = [(n, k, c) for n, k, c in files if "/" not in n and (
        k == ASSEMBLY and n.startswith(("System.", "Microsoft.Win32", "mscorlib", "netstandard")) or k == NATIVE and n.startswith("libSystem"))]
    target = json.loads(next(content for _, kind, content in files if kind == DEPS))["runtimeTarget"]["name"]
    packs = f"runtimepack.{framework['name']}.Runtime.linux-x64/{framework['version']}"
    app = f"{name}/1.0.0"
    assemblies = {n: {"assemblyVersion": framework["version"], "fileVersion": framework["version"]} for n, k, _ in keep if k == ASSEMBLY}
    deps = {"runtimeTarget": {"name": target, "signature": ""}, "compilationOptions": {},
            "targets": {target.split("/")[0]: {}, target: {app: {"runtime": {f"{name}.dll": {}}}, packs: {"runtime": assemblies}}},
            "libraries": {app: {"type": "project", "serviceable": False, "sha512": ""}, packs: {"type": "runtimepack", "serviceable": False, "sha512": ""}}}
    new = [(f"{name}.runtimeconfig.json", CONFIG, json.dumps(config).encode()), (f"{name}.deps.json", DEPS, json.dumps(deps).encode()),
           (f"{name}.dll", ASSEMBLY, open(dll, "rb").read())] + keep
    table, places = b"", {}
    for file, kind, content in new:
        if kind in (ASSEMBLY, NATIVE):
            host += bytes(-len(host) % 4096)
        places[kind] = (len(host), len(content))
        table += struct.pack("<qqqB", len(host), len(content), 0, kind) + prefixed(file)
        host += content
    head = len(host)
    host += struct.pack("<IIi", *version, len(new)) + prefixed("apmshop") + struct.pack("<qqqqQ", *places[DEPS], *places[CONFIG], 0) + table
    struct.pack_into("<q", host, host.index(MARK) - 8, head)
    open(out, "wb").write(host)
    os.chmod(out, 0o755)


if __name__ == "__main__":
    {"shared": shared, "unpack": unpack, "pack": pack}[sys.argv[1]](*sys.argv[2:])
