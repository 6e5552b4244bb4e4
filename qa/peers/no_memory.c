/* What each pmdaEvent* call returns when its n-th allocation fails, for each n until one succeeds; each in a process of its own, alone
   and with all allocations behind it. A line for each call: its statuses, then "ends" if it ended the process. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static struct { int status; int failed; } *child;
static long left = -1;
static int all;
static int fails(void) {
    if (left < 0 || (left > 0 && left-- > 0)) return 0;
    if (!all) left = -1;
    child->failed = 1;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t n) { return fails() ? NULL : __libc_realloc(old, n); }
int posix_memalign(void **to, size_t align, size_t n) { return fails() ? ENOMEM : (*to = __libc_memalign(align, n)) ? 0 : ENOMEM; }

static int array, queue, filter;
static char big[40000];
static struct timeval now = { 1, 1 };
static int record(void) { return pmdaEventAddRecord(array, &now, PM_EVENT_FLAG_POINT); }
static int decode(int to, void *event, size_t size, struct timeval *time, void *data) {
    pmAtomValue value = { .cp = event };
    int sts = pmdaEventAddRecord(to, time, PM_EVENT_FLAG_POINT);
    if (sts >= 0) sts = pmdaEventAddParam(to, 7, PM_TYPE_STRING, &value);
    return sts < 0 ? sts : 1;
}
static int apply(void *filter, void *event, size_t size) { return 0; }
static void release(void *filter) { }
static int fetch(void) { pmAtomValue atom; return pmdaEventQueueRecords(queue, &atom, 1, decode, NULL); }
static void make(void) {
    memset(big, 'x', sizeof(big) - 1);
    array = pmdaEventNewArray();
    record();
    queue = pmdaEventNewQueue("queue", 1 << 20);
    pmdaEventNewClient(1);
    pmdaEventSetAccess(1, queue, 1);
    fetch();
}
static int new_array(void) { return pmdaEventNewArray(); }
static int add_param(void) { pmAtomValue value = { .cp = big }; return pmdaEventAddParam(array, 7, PM_TYPE_STRING, &value); }
static int add_record(void) {
    int sts = 0;
    for (int i = 0; i < 100 && sts >= 0; i++) sts = record();
    return sts;
}
static int add_missed(void) {
    int sts = 0;
    for (int i = 0; i < 100 && sts >= 0; i++) sts = pmdaEventAddMissedRecord(array, &now, 1);
    return sts;
}
static int new_queue(void) { return pmdaEventNewQueue("another", 1 << 20); }
static int new_active_queue(void) { return pmdaEventNewActiveQueue("another", 1 << 20, 2); }
static int new_client(void) {
    int sts = 0;
    for (int i = 2; i < 20 && sts >= 0; i++) sts = pmdaEventNewClient(i);
    return sts;
}
static int other(void) { int made = pmdaEventNewQueue("other", 1 << 20); return made; }
static int another_queue;
static int set_filter(void) { return pmdaEventSetFilter(1, another_queue, &filter, apply, release); }
static int set_access(void) { return pmdaEventSetAccess(1, another_queue, 1); }
static int append(void) { return pmdaEventQueueAppend(queue, big, 64, &now); }
static int append_large(void) { return pmdaEventQueueAppend(queue, big, sizeof(big), &now); }
static int records(void) { return fetch(); }
static int shut_down(void) { return pmdaEventQueueShutdown(another_queue); }
static int end_client(void) { return pmdaEventEndClient(1); }
static int handle(void) { return pmdaEventQueueHandle("queue"); }
static const struct { const char *name; int (*call)(void); } calls[] = {
    { "NewArray", new_array }, { "AddRecord", add_record }, { "AddMissedRecord", add_missed }, { "AddParam", add_param },
    { "NewQueue", new_queue }, { "NewActiveQueue", new_active_queue }, { "NewClient", new_client }, { "SetFilter", set_filter },
    { "SetAccess", set_access }, { "QueueAppend", append }, { "QueueAppend, 40000 bytes", append_large }, { "QueueRecords", records },
    { "QueueShutdown", shut_down }, { "EndClient", end_client }, { "QueueHandle", handle },
};

int main(void) {
    pmSetProgname("no_memory");
    child = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
	int refused = 0, ends = 0, odd = 0, failed = 0;
	for (int follow = 0; follow < 2; follow++)
	    for (long n = 0; n < 1000; n++) {
		int how;
		child->failed = child->status = 0;
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0) {
		    if (!freopen("/dev/null", "w", stderr)) _exit(1);
		    make();
		    another_queue = other();
		    if (calls[i].call == records) {
			append();
			append_large();
		    }
		    if (calls[i].call == end_client) set_filter();
		    all = follow;
		    left = n;
		    int sts = calls[i].call();
		    left = -1;
		    child->status = sts;
		    _exit(0);
		}
		waitpid(pid, &how, 0);
		if (!child->failed) break;
		failed++;
		if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) ends++;
		else if (child->status == -ENOMEM) refused++;
		else if (child->status < 0) odd = child->status;
	    }
	printf("%s:%s%s%s", calls[i].name, refused ? " -ENOMEM" : "", ends ? " ends" : "", failed ? "" : " needs none");
	if (odd) printf(" %d", odd);
	printf("\n");
    }
    return 0;
}
