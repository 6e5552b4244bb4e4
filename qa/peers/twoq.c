/*
 * A PMDA with two metrics over one queue, as PCP's pmdasystemd has: twoq.records and twoq.raw. Each request appends four events;
 * the decoder begins a record and then fails for those that are "lost". twoq.text is the parameter.
 *
 * cc -O2 -o pmdatwoq twoq.c -lpcp_pmda -lpcp
 */
#include <errno.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

/* What a fetch fills: a type of its own from PCP 7 on, where pmResult counts nanoseconds. */
#ifndef pmdaResult
#define pmdaResult pmResult
#endif

#define METRIC(item, type) \
	{ NULL, { PMDA_PMID(0, item), type, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } }

static pmdaMetric metrics[] = { METRIC(0, PM_TYPE_EVENT), METRIC(1, PM_TYPE_EVENT), METRIC(2, PM_TYPE_STRING) };
static int queue;

static int
decode(int array, void *event, size_t size, struct timeval *time, void *data)
{
    pmAtomValue	value;
    int		sts;

    if ((sts = pmdaEventAddRecord(array, time, PM_EVENT_FLAG_POINT)) < 0)
	return sts;
    if (strcmp(event, "lost") == 0)
	return -ENODATA;
    value.cp = event;
    sts = pmdaEventAddParam(array, metrics[2].m_desc.pmid, PM_TYPE_STRING, &value);
    return sts < 0 ? sts : 1;
}

static int
values(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    if (pmID_item(metric->m_desc.pmid) == 2)
	return PMDA_FETCH_NOVALUES;
    pmdaEventSetAccess(pmdaGetContext(), queue, 1);
    return pmdaEventQueueRecords(queue, atom, pmdaGetContext(), decode, NULL);
}

static int
fetch(int count, pmID *pmids, pmdaResult **result, pmdaExt *pmda)
{
    static const char	*events[] = { "the first event", "the second, which is longer than the first", "lost", "the last" };
    struct timeval	time = { 1700000000, 1 };

    pmdaEventNewClient(pmda->e_context);
    for (int i = 0; i < 4; i++)
	pmdaEventQueueAppend(queue, (void *)events[i], strlen(events[i]) + 1, &time);
    return pmdaFetch(count, pmids, result, pmda);
}

static void
end(int context)
{
    pmdaEventEndClient(context);
}

int
main(int argc, char **argv)
{
    pmdaInterface		dispatch;
    static pmdaOptions		options = { .short_options = "D:d:l:" };

    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "twoq", 470, "twoq.log", NULL);
    pmdaGetOptions(argc, argv, &options, &dispatch);
    pmdaOpenLog(&dispatch);
    queue = pmdaEventNewQueue("the queue", 100);
    dispatch.version.seven.fetch = fetch;
    pmdaSetFetchCallBack(&dispatch, values);
    pmdaSetEndContextCallBack(&dispatch, end);
    pmdaInit(&dispatch, NULL, 0, metrics, 3);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
