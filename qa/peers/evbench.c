/*
 * Builds event arrays through the C functions, one record with 5 parameters (U32, U64, DOUBLE, STRING of 24 bytes, 64) in six
 * calls, and prints nanoseconds a record; hi0 and lo0: records without parameters. Whose functions these are is decided by the
 * linker or LD_PRELOAD.
 *
 * cc -O2 evbench.c -lpcp_pmda -lpcp; a.out RECORDS REPETITIONS hi|lo|hi0|lo0
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
    int			records, repetitions, high, bare, array, sts = 0;
    static char		text[] = "java.lang.Thread.run:834";
    struct timespec	ts = { 1700000000, 0 };
    struct timeval	tv = { 1700000000, 0 };
    unsigned		bytes = 0;
    pmAtomValue		value;
    double		*times;
    pmID		pmid[5];

    if (argc != 4) {
	fprintf(stderr, "usage: %s RECORDS REPETITIONS hi|lo|hi0|lo0\n", argv[0]);
	return 2;
    }
    records = atoi(argv[1]);
    repetitions = atoi(argv[2]);
    high = argv[3][0] == 'h';
    bare = argv[3][2] == '0';
    times = calloc(repetitions, sizeof(*times));
    for (int i = 0; i < 5; i++)
	pmid[i] = pmID_build(30, 0, i + 1);
    array = high ? pmdaEventNewHighResArray() : pmdaEventNewArray();

#define RECORD(ADD_RECORD, ADD_PARAM, TIME) do { \
	sts |= ADD_RECORD(array, TIME, PM_EVENT_FLAG_POINT); \
	value.ul = i; sts |= ADD_PARAM(array, pmid[0], PM_TYPE_U32, &value); \
	value.ull = i * 1000ULL; sts |= ADD_PARAM(array, pmid[1], PM_TYPE_U64, &value); \
	value.d = i * .5; sts |= ADD_PARAM(array, pmid[2], PM_TYPE_DOUBLE, &value); \
	value.cp = text; sts |= ADD_PARAM(array, pmid[3], PM_TYPE_STRING, &value); \
	value.ll = -i; sts |= ADD_PARAM(array, pmid[4], PM_TYPE_64, &value); \
    } while (0)

    for (int r = 0; r < repetitions; r++) {
	double start = now();

	if (high)
	    pmdaEventResetHighResArray(array);
	else
	    pmdaEventResetArray(array);
	for (int i = 0; i < records; i++) {
	    ts.tv_nsec = i;
	    tv.tv_usec = i;
	    if (high && bare)
		sts |= pmdaEventAddHighResRecord(array, &ts, PM_EVENT_FLAG_POINT);
	    else if (bare)
		sts |= pmdaEventAddRecord(array, &tv, PM_EVENT_FLAG_POINT);
	    else if (high)
		RECORD(pmdaEventAddHighResRecord, pmdaEventAddHighResParam, &ts);
	    else
		RECORD(pmdaEventAddRecord, pmdaEventAddParam, &tv);
	}
	bytes = high ? pmdaEventGetHighResAddr(array)->ea_len : pmdaEventGetAddr(array)->ea_len;
	times[r] = (now() - start) / records;
    }
    if (sts != 0) {
	fprintf(stderr, "a call failed\n");
	return 1;
    }
    qsort(times, repetitions, sizeof(*times), compare);
    printf("%.2f %.2f %u\n", times[repetitions / 2], times[0], bytes);
    return 0;
}
