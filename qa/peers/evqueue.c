/*
 * Appends events to a queue and fetches them, each as a record with the event as its text: what a PMDA that tails a log does.
 * Whose functions these are is decided by the linker or LD_PRELOAD. For callgrind: instructions are the difference of two runs.
 *
 * cc -O2 evqueue.c -lpcp_pmda -lpcp; a.out ROUNDS CLIENTS EVENTS SIZE
 *	each round appends EVENTS events of SIZE bytes, then each of CLIENTS fetches them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
decode(int array, void *event, size_t size, struct timeval *time, void *data)
{
    pmAtomValue	value;
    int		sts = pmdaEventAddRecord(array, time, PM_EVENT_FLAG_POINT);

    if (sts < 0)
	return sts;
    value.cp = event;
    sts = pmdaEventAddParam(array, *(pmID *)data, PM_TYPE_STRING, &value);
    return sts < 0 ? sts : 1;
}

int
main(int argc, char **argv)
{
    struct timeval	tv = { 1700000000, 0 };
    pmAtomValue		value;
    pmID		pmid = pmID_build(30, 0, 1);
    int			rounds, clients, events, size, queue;
    unsigned long	records = 0;
    char		*event;
    double		start;

    if (argc != 5) {
	fprintf(stderr, "usage: %s ROUNDS CLIENTS EVENTS SIZE\n", argv[0]);
	return 2;
    }
    rounds = atoi(argv[1]);
    clients = atoi(argv[2]);
    events = atoi(argv[3]);
    size = atoi(argv[4]);
    event = malloc(size + 1);
    memset(event, 'x', size);
    event[size] = '\0';
    queue = pmdaEventNewQueue("queue", 4 << 20);
    for (int c = 0; c < clients; c++) {
	pmdaEventNewClient(c);
	pmdaEventSetAccess(c, queue, 1);
	pmdaEventQueueRecords(queue, &value, c, decode, &pmid);
    }
    start = now();
    for (int r = 0; r < rounds; r++) {
	/* the NUL too: libpcp_pmda passes what was appended, and nothing behind it */
	for (int i = 0; i < events; i++)
	    pmdaEventQueueAppend(queue, event, size + 1, &tv);
	for (int c = 0; c < clients; c++) {
	    if (pmdaEventQueueRecords(queue, &value, c, decode, &pmid) == 1)
		records += ((pmEventArray *)value.vbp)->ea_nrecords;
	}
    }
    printf("%.2f %lu\n", (now() - start) / rounds / events, records);
    return 0;
}
