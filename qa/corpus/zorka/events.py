#!/usr/bin/env python3
"""Writes events.txt: every body of this folder as records, by the decoder in ../shared/tools/zorka,
which shares no code with the PMDA. events.py > events.txt

A body: `# file number endpoint bytes encoding`, then one line each:

  r parent method start duration calls flags dialect exceptions      (parent -: a root)
  s record type clock span parent                                    (begin of a span)
  a record name value       (an upward attribute stands at its span's record; - : there is none)
  e record id class frames first|- message
  y id text        m id class name signature        t key text       (definitions)
  ! the decoder gives up here
  . references unclosed

flags: O overflow, E error, S sent, C closed. Durations in ns. Texts are in JSON."""
import json, os, struct, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../../../shared/tools/zorka'))
import decode as D

U64 = (1 << 64) - 1


def text(v):
    return json.dumps(v, ensure_ascii=False) if v is not None else '-'


def value(v):
    if v is None or v is D.Undef:
        return 'n'
    if isinstance(v, bool):
        return 'b%d' % v
    if isinstance(v, int):
        return 'i%d' % v
    if isinstance(v, float):
        return 'f%016x' % struct.unpack('>Q', struct.pack('>d', v))[0]
    if isinstance(v, str):
        return text(v)
    return 'o'


def flags(dialect, end, item):
    """The flags of a record's end, or else of a legacy item."""
    out = ''
    if end is not None:
        if dialect == 'N':
            out += 'E' if end & 1 else ''
        else:
            out += ('O' if end & 1 else '') + ('E' if end & 0x1000 else '')
        out += 'S' if end & 0x2000 else ''
    elif item:
        v, tag = item
        out += 'E' if v & (8 if tag == 0x0f else 1) else ''
    return out


class Trace:
    def __init__(self):
        self.records, self.spans, self.attributes, self.exceptions = [], [], [], []
        self.open, self.references = [], 0

    def upward(self, kind):
        for r in reversed(self.open):
            begin = self.records[r]['begin']
            if begin is not None and (kind == 0 or self.spans[begin][1] == kind):
                return r
        return None

    def event(self, e):
        kind, top = e[0], self.open[-1] if self.open else None
        if kind == 'start':
            self.records.append(dict(parent=top, start=e[1], method=e[2], dialect=e[3][0], begin=None,
                                     duration=0, calls=0, flags='', item=None, exceptions=0))
            self.open.append(len(self.records) - 1)
            return
        if top is None:
            return
        r = self.records[top]
        if kind == 'begin':
            r['begin'] = len(self.spans)
            self.spans.append((top, e[2], e[1], e[3] & U64, e[4] & U64))
        elif kind == 'attr':
            self.attributes.append((top, e[1], value(e[2])))
        elif kind == 'upattr':
            at = self.upward(e[1])
            if at is not None:
                self.attributes.append((at, e[2], value(e[3])))
        elif kind == 'exc':
            r['exceptions'] += 1
            frames = e[5] or []
            first = ','.join(str(x) for x in frames[0]) if frames else '-'
            name = 'c%d' % e[2] if isinstance(e[2], int) else text(e[2])
            self.exceptions.append((top, e[1], name, len(frames), first, text(e[3])))
        elif kind == 'excref':
            r['exceptions'] += 1
            self.references += 1
        elif kind == 'flags':
            r['item'] = (e[1], e[2])
        elif kind == 'end':
            self.open.pop()
            legacy = r['dialect'] == 'L'
            delta = e[1] - r['start']
            r['duration'] = (delta & 0xffffffffff) << 16 if legacy else max(delta, 0)
            r['calls'] = e[2]
            r['flags'] = flags(r['dialect'], e[3], r['item']) + 'C'

    def lines(self):
        up = lambda n: '-' if n is None else str(n)
        for r in self.records:
            yield 'r %s %d %d %d %d %s %s %d' % (up(r['parent']), r['method'], r['start'], r['duration'], r['calls'],
                                                 r['flags'] or flags(r['dialect'], None, r['item']) or '-', r['dialect'], r['exceptions'])
        for s in self.spans:
            yield 's %d %d %d %x %x' % s
        for a in self.attributes:
            yield 'a %d %d %s' % a
        for e in self.exceptions:
            yield 'e %d %d %s %d %s %s' % e


def bodies():
    for folder in sorted(os.listdir(HERE)):
        if not os.path.isdir(os.path.join(HERE, folder)) or folder == 'synth-encodings':
            continue
        for name in sorted(os.listdir(os.path.join(HERE, folder))):
            # Not CBOR, or too long for a text.
            if not name.endswith(('.jsonl', '.cbor')) or name.startswith('deep-records'):
                continue
            path = os.path.join(folder, name)
            for number, (uri, _, raw, _) in enumerate(D.load(os.path.join(HERE, path))):
                endpoint = uri.rsplit('/', 1)[-1]
                if endpoint in ('agd', 'trc'):
                    yield path, number, endpoint, raw


def main():
    for path, number, endpoint, raw in bodies():
        body, steps = D.unwrap(raw)
        print('# %s %d %s %d %s' % (path, number, endpoint, len(body), steps[-1] if steps else 'raw'))
        end, trace = None, Trace()
        try:
            if endpoint == 'agd':
                for e in D.agent_events(body):
                    if e[0] == 'sref':
                        print('y %d %s' % (e[1], text(e[2] or '')))
                    elif e[0] == 'mref':
                        print('m %d %d %d %d' % e[1:])
                    else:
                        for k, v in e[1].items():
                            print('t %s %s' % (text(k), text(v)))
            else:
                for e in D.trace_events(body):
                    trace.event(e)
        except (D.Malformed, IndexError, TypeError, ValueError, AttributeError, RecursionError):
            end = '!'
        for line in trace.lines():
            print(line)
        if end:
            print(end)
        print('. %d %d' % (trace.references, len(trace.open)))


main()
