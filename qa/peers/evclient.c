/*
 * One client context that does what it is told, since filters belong to a context: commands on standard input, one line each,
 * an answer for each.
 *
 *   set METRIC TEXT...        pmStore to every instance; an empty text is fine
 *   set1 METRIC INST TEXT...  to one instance
 *   setnull METRIC TEXT...    to no instance in particular, as pmproxy does
 *   get METRIC                the text values, each on a line with its instance
 *   records METRIC PARAM      the values of a parameter (numbers of 64 bits, or texts in a line each) in the new records, of all
 *                             instances, and the count of missed ones
 *   number METRIC             a number, of the first instance
 *
 * cc evclient.c -lpcp; a.out HOST, or a.out -a ARCHIVE: each fetch is the next one of the archive
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>

static pmID
id_of(const char *name)
{
    pmID pmid = PM_ID_NULL;
    int sts = pmLookupName(1, (const char **)&name, &pmid);

    if (sts < 0)
	printf("%s: %s\n", name, pmErrStr(sts));
    return sts < 0 ? PM_ID_NULL : pmid;
}

static void
store(const char *metric, const char *instance, const char *text)
{
    pmResult *result = calloc(1, sizeof(*result));
    pmValueSet *set;
    pmValueBlock *block;
    pmDesc desc;
    int *insts = NULL, n = 1, sts;
    char **names = NULL;
    pmID pmid = id_of(metric);

    if (pmid == PM_ID_NULL)
	return;
    if ((sts = pmLookupDesc(pmid, &desc)) < 0) {
	printf("pmLookupDesc: %s\n", pmErrStr(sts));
	return;
    }
    if (instance == NULL && desc.indom != PM_INDOM_NULL && (n = pmGetInDom(desc.indom, &insts, &names)) < 1) {
	printf("no instances\n");
	return;
    }
    set = calloc(1, sizeof(*set) + n * sizeof(pmValue));
    block = calloc(1, PM_VAL_HDR_SIZE + strlen(text) + 8);
    block->vtype = PM_TYPE_STRING;
    block->vlen = PM_VAL_HDR_SIZE + strlen(text) + 1;
    memcpy(block->vbuf, text, strlen(text) + 1);
    set->pmid = pmid;
    set->numval = n;
    set->valfmt = PM_VAL_DPTR;
    for (int i = 0; i < n; i++) {
	set->vlist[i].inst = PM_IN_NULL;
	if (instance != NULL && strcmp(instance, "NULL") != 0)
	    set->vlist[i].inst = pmLookupInDom(desc.indom, instance);
	else if (instance == NULL && insts != NULL)
	    set->vlist[i].inst = insts[i];
	set->vlist[i].value.pval = block;
    }
    result->numpmid = 1;
    result->vset[0] = set;
    sts = pmStore(result);
    printf("%s\n", sts < 0 ? pmErrStr(sts) : "ok");
}

static pmResult *
fetch(pmID pmid)
{
    pmResult *result;
    int sts = pmid == PM_ID_NULL ? PM_ERR_NAME : pmFetch(1, &pmid, &result);

    if (sts < 0)
	printf("pmFetch: %s\n", pmErrStr(sts));
    else if (result->vset[0]->numval < 0)
	printf("%s\n", pmErrStr(result->vset[0]->numval));
    return sts < 0 || result->vset[0]->numval < 0 ? NULL : result;
}

static void
get(const char *metric)
{
    pmID pmid = id_of(metric);
    pmResult *result = fetch(pmid);
    pmDesc desc;

    if (result == NULL || pmLookupDesc(pmid, &desc) < 0)
	return;
    if (result->vset[0]->numval == 0)
	printf("no value\n");
    for (int i = 0; i < result->vset[0]->numval; i++) {
	pmValue *value = &result->vset[0]->vlist[i];
	pmAtomValue atom;
	char *name = NULL;

	pmNameInDom(desc.indom, value->inst, &name);
	pmExtractValue(result->vset[0]->valfmt, value, PM_TYPE_STRING, &atom, PM_TYPE_STRING);
	printf("%s: \"%s\"\n", name ? name : "-", atom.cp);
    }
    pmFreeResult(result);
}

static void
number(const char *metric)
{
    pmResult *result = fetch(id_of(metric));
    pmAtomValue atom;

    if (result == NULL)
	return;
    if (result->vset[0]->numval < 1)
	printf("no value\n");
    else {
	/* 64-bit values: that is what counters of event streams are */
	pmExtractValue(result->vset[0]->valfmt, &result->vset[0]->vlist[0], PM_TYPE_U64, &atom, PM_TYPE_U64);
	printf("%llu\n", (unsigned long long)atom.ull);
    }
    pmFreeResult(result);
}

static int
word(const char *at)
{
    int value;

    memcpy(&value, at, 4);
    return value;
}

static void
records(const char *metric, const char *param)
{
    pmID wanted = id_of(param);
    pmResult *result = fetch(id_of(metric));
    long missed = 0;

    if (result == NULL)
	return;
    for (int i = 0; i < result->vset[0]->numval; i++) {
	const char *at = (const char *)result->vset[0]->vlist[i].value.pval;
	int head = (unsigned)word(at) >> 24 == PM_TYPE_EVENT ? 16 : 24;
	int count = word(at + 4);

	for (at += 8; count > 0; count--, at += 0) {
	    unsigned flags = word(at + head - 8);
	    int parameters = word(at + head - 4);

	    at += head;
	    if (flags & PM_EVENT_FLAG_MISSED) {
		missed += parameters;
		continue;
	    }
	    for (; parameters > 0; parameters--) {
		int length = (word(at + 4) & 0xffffff) - 4;

		if ((pmID)word(at) == wanted && (unsigned)word(at + 4) >> 24 == PM_TYPE_STRING)
		    printf("%.*s\n", length, at + 8);
		else if ((pmID)word(at) == wanted) {
		    long long value;

		    memcpy(&value, at + 8, 8);
		    printf("%lld ", value);
		}
		at += 8 + (length + 3) / 4 * 4;
	    }
	}
    }
    printf("missed %ld\n", missed);
    pmFreeResult(result);
}

int
main(int argc, char **argv)
{
    char line[8192];
    int sts;

    setvbuf(stdout, NULL, _IOLBF, 0);
    sts = argc == 2 ? pmNewContext(PM_CONTEXT_HOST, argv[1])
	: argc == 3 && strcmp(argv[1], "-a") == 0 ? pmNewContext(PM_CONTEXT_ARCHIVE, argv[2]) : PM_ERR_GENERIC;
    if (sts < 0) {
	fprintf(stderr, "%s: %s\n", argv[0], argc > 1 ? pmErrStr(sts) : "HOST");
	return 1;
    }
    while (fgets(line, sizeof(line), stdin) != NULL) {
	char *rest = line, *command, *metric;

	line[strcspn(line, "\n")] = '\0';
	command = strsep(&rest, " ");
	metric = rest ? strsep(&rest, " ") : "";
	if (rest == NULL)
	    rest = "";
	if (strcmp(command, "set") == 0)
	    store(metric, NULL, rest);
	else if (strcmp(command, "setnull") == 0)
	    store(metric, "NULL", rest);
	else if (strcmp(command, "set1") == 0) {
	    char *instance = strsep(&rest, " ");

	    store(metric, instance, rest ? rest : "");
	}
	else if (strcmp(command, "get") == 0)
	    get(metric);
	else if (strcmp(command, "number") == 0)
	    number(metric);
	else if (strcmp(command, "records") == 0)
	    records(metric, rest);
	else
	    printf("%s?\n", command);
    }
    return 0;
}
