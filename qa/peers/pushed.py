#!/usr/bin/python3
"""Whether the newest values of an archive, or of a directory of archives, are those of a host: pushed.py HOST ARCHIVE METRIC...

For all metrics below METRIC... that the archive has: the same instances with the same values. Prints how many values are the same, and
each that differs: then the status is 1. What moves by itself is not to be named.
"""

import sys

from pcp import pmapi
import cpmapi as c


def newest(context, names):
    """(metric, instance) with its value: of a host now, of an archive the last one of each metric."""
    wanted = context.pmLookupName(names)
    pmids = dict(zip(wanted, names))
    descs = {pmid: context.pmLookupDesc(pmid) for pmid in pmids}
    live = context.type == c.PM_CONTEXT_HOST
    found, instances = {}, {}
    while True:
        try:
            result = context.pmFetch(wanted) if live else context.pmFetchArchive()
        except pmapi.pmErr as error:
            if error.errno() == c.PM_ERR_EOL:
                break
            raise
        for n in range(result.contents.numpmid):
            pmid, number = result.contents.get_pmid(n), result.contents.get_numval(n)
            # What has no values any more has none: they are not the older ones.
            if pmid in pmids:
                kind = descs[pmid].type
                found[pmid] = {result.contents.get_inst(n, v): context.pmExtractValue(result.contents.get_valfmt(n), result.contents.get_vlist(n, v), kind, kind)
                               .dref(kind) for v in range(max(number, 0))}
        context.pmFreeResult(result)
        if live:
            break
    values = {}
    for pmid, of in found.items():
        indom = descs[pmid].indom
        if of and indom not in instances and indom != c.PM_INDOM_NULL:
            instances[indom] = dict(zip(*(context.pmGetInDom if live else context.pmGetInDomArchive)(descs[pmid])))
        values.update({(pmids[pmid], instances.get(indom, {}).get(instance, "")): value for instance, value in of.items()})
    return values


def main():
    host, archive = pmapi.pmContext(c.PM_CONTEXT_HOST, sys.argv[1]), pmapi.pmContext(c.PM_CONTEXT_ARCHIVE, sys.argv[2])
    names = []
    for root in sys.argv[3:]:
        archive.pmTraversePMNS(root, names.append)
    names = [name for name in names if archive.pmLookupDesc(archive.pmLookupName(name)[0]).type not in (c.PM_TYPE_EVENT, c.PM_TYPE_HIGHRES_EVENT)]
    here, there = newest(host, names), newest(archive, names)
    for key in sorted(set(here) | set(there)):
        if here.get(key) != there.get(key):
            print(*key, "is", here.get(key), "at the host,", there.get(key), "in the archive")
    same = sum(here[key] == there.get(key) for key in here)
    print(same, "values are the same")
    return same == 0 or here != there


if __name__ == "__main__":
    sys.exit(main())
