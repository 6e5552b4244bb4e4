/*
 * libpmdaevent: the functions pmdaEvent* of <pcp/pmda.h>, and two more for queues with nanoseconds.
 *
 *   cc my_pmda.c -lpmdaevent -lpcp_pmda -lpcp        link it first, or
 *   LD_PRELOAD=/path/to/libpmdaevent.so my_pmda      use it in a PMDA that exists
 *
 * Include <pcp/pmapi.h> and <pcp/pmda.h> before this file. What differs from libpcp_pmda is in docs/design.md.
 */
#ifndef PMDAEVENT_H
#define PMDAEVENT_H

#ifdef __cplusplus
extern "C" {
#endif

/* pmdaEventQueueAppend with nanoseconds. */
extern int pmdaEventQueueHighResAppend(int handle, void *event, size_t bytes, struct timespec *time);

/* As pmdaEventDecodeCallBack; add records to the array with pmdaEventAddHighResRecord and pmdaEventAddHighResParam. */
typedef int (*pmdaEventHighResDecodeCallBack)(int array, void *event, size_t bytes, struct timespec *time, void *data);

/* pmdaEventQueueRecords with a PM_TYPE_HIGHRES_EVENT array. Both share the client's place in the queue: an event is
 * delivered once, in one resolution. */
extern int pmdaEventQueueHighResRecords(int handle, pmAtomValue *atom, int context,
		pmdaEventHighResDecodeCallBack decoder, void *data);

#ifdef __cplusplus
}
#endif
#endif
