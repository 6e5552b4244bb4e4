/*
 * A PCP client that asks for far too much, for tests of what one request may cost.
 *
 *   hostile_client HOSTSPEC again METRIC TIMES           one fetch that names a metric so often
 *   hostile_client HOSTSPEC exclude METRIC TIMES IDS     the same with a profile that excludes so many instances
 *   hostile_client HOSTSPEC both STREAM TIMES            one fetch of STREAM.records and STREAM.highres_records, each so often
 *   hostile_client HOSTSPEC all TIMES                    one fetch of all metrics below apm, each so often
 *   hostile_client HOSTSPEC filter STREAM FILE FETCHES   sets the filter in FILE, fetches STREAM.highres_records
 *   hostile_client HOSTSPEC instances STREAM FILE COUNT SECONDS   one filter for each of the first COUNT instances, and stays
 *   hostile_client HOSTSPEC storm SECONDS SEED           all of it at random
 *
 * Prints what came back; status 1 when a request got no answer (an answer of PM_ERR_TOOBIG is one).
 */
#include <pcp/pmapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define METRICS 20000
#define REQUEST 15000 /* PMIDs that fit into a request that pmcd takes: 64 KiB */

static pmID ids[METRICS];
static char *names[METRICS];
static int known, quiet;
static double longest;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void learn(const char *name)
{
    if (known < METRICS)
        names[known++] = strdup(name);
}

static pmID lookup(const char *name)
{
    pmID id;
    int sts = pmLookupName(1, &name, &id);
    if (sts < 0) {
        fprintf(stderr, "%s: %s\n", name, pmErrStr(sts));
        exit(2);
    }
    return id;
}

static int lost(int sts)
{
    return sts == PM_ERR_IPC || sts == PM_ERR_TIMEOUT || sts == PM_ERR_AGAIN || sts == -ECONNRESET || sts == -EPIPE;
}

/* One fetch; what came is added up. */
static int fetch(const char *what, int n, pmID *list)
{
    pmResult *r;
    double begin = now();
    int sts = pmFetch(n, list, &r);
    double took = now() - begin;
    if (took > longest)
        longest = took;
    if (sts < 0) {
        printf("%s: pmFetch: %s\n", what, pmErrStr(sts));
        return 1;
    }
    long values = 0, refused = 0, errors = 0, bytes = 0, answered = 0;
    for (int i = 0; i < r->numpmid; i++) {
        pmValueSet *set = r->vset[i];
        if (set->numval == PM_ERR_TOOBIG)
            refused++;
        else if (set->numval < 0)
            errors++;
        else
            answered++;
        for (int j = 0; j < set->numval; j++, values++)
            bytes += set->valfmt == PM_VAL_INSITU ? 4 : set->vlist[j].value.pval->vlen;
        if (set->numval == PM_ERR_AGAIN || set->numval == PM_ERR_NOAGENT || set->numval == PM_ERR_TIMEOUT) {
            printf("%s: the agent is gone\n", what);
            pmFreeResult(r);
            return 1;
        }
    }
    if (!quiet)
        printf("%s: %d sets, %ld answered, %ld too big, %ld other errors; %ld values, %ld bytes\n", what, r->numpmid,
               answered, refused, errors, values, bytes);
    pmFreeResult(r);
    return 0;
}

static pmID *repeated(pmID id, int n)
{
    pmID *list = malloc((size_t)n * sizeof *list);
    for (int i = 0; i < n; i++)
        list[i] = id;
    return list;
}

static void exclude(pmInDom indom, int count)
{
    int *some = malloc((size_t)count * sizeof *some);
    for (int i = 0; i < count; i++)
        some[i] = 1000000 + i;
    /* Of one domain at a time: pmcd hangs up on a client whose profile takes more than 64 KiB. */
    pmAddProfile(PM_INDOM_NULL, 0, NULL);
    if (count)
        pmDelProfile(indom, count, some);
    free(some);
}

/* Stores a text to `count` instances from `first` on; none: to all. */
static int store(pmID id, const char *text, int first, int count)
{
    int n = count ? count : 1;
    size_t length = strlen(text);
    pmResult *r = calloc(1, sizeof *r);
    r->numpmid = 1;
    r->vset[0] = calloc(1, sizeof(pmValueSet) + (size_t)n * sizeof(pmValue));
    r->vset[0]->pmid = id;
    r->vset[0]->numval = n;
    r->vset[0]->valfmt = PM_VAL_DPTR;
    for (int i = 0; i < n; i++) {
        pmValueBlock *block = calloc(1, PM_VAL_HDR_SIZE + length + 8);
        block->vtype = PM_TYPE_STRING;
        block->vlen = (unsigned int)(PM_VAL_HDR_SIZE + length + 1);
        memcpy(block->vbuf, text, length + 1);
        r->vset[0]->vlist[i].inst = count ? first + i : (int)PM_IN_NULL;
        r->vset[0]->vlist[i].value.pval = block;
    }
    double begin = now();
    int sts = pmStore(r);
    double took = now() - begin;
    if (took > longest)
        longest = took;
    pmFreeResult(r);
    return sts;
}

static char *contents(const char *path)
{
    static char text[8192];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

/* A filter at random: sound, hostile or nonsense. */
static void some_filter(char *text, size_t size)
{
    static const char *const pieces[] = { "zz<yy", "instance==\"*a*e*\"", "flags==1", "timestamp>0", "nothing==1", "blob==\"*A*A*B*\"" };
    size_t at = 0;
    int terms = 1 + rand() % 500;
    const char *joint = rand() % 2 ? "||" : "&&";
    text[0] = 0;
    for (int i = 0; i < terms; i++) {
        const char *piece = pieces[rand() % 6];
        if (at + strlen(piece) + 3 >= size)
            break;
        at += (size_t)sprintf(text + at, "%s%s", i ? joint : "", piece);
    }
}

static int storm(const char *host, int seconds, unsigned seed)
{
    static char filter[4096];
    double end = now() + seconds, gone_since = 0;
    long requests = 0, stores = 0, failed = 0;
    srand(seed);
    quiet = 1;
    pmTraversePMNS("apm", learn);
    for (int i = 0; i < known; i++)
        ids[i] = lookup(names[i]);
    while (now() < end) {
        static pmID list[REQUEST];
        int kind = rand() % 8, n = 1 + rand() % REQUEST, bad = 0;
        if (kind == 0) { /* a new context: cursors, filters and profile of the old one end */
            int ctx = pmNewContext(PM_CONTEXT_HOST, host);
            if (ctx < 0) {
                bad = 1;
            } else {
                static int old = -1;
                if (old >= 0)
                    pmDestroyContext(old);
                old = ctx;
            }
        } else if (kind == 1) {
            pmID id = ids[rand() % known];
            pmDesc desc;
            if (pmLookupDesc(id, &desc) >= 0 && desc.indom != PM_INDOM_NULL)
                exclude(desc.indom, rand() % 12000);
        } else if (kind == 2) {
            for (int i = 0, tries = 0; tries < 200 && !i; tries++) {
                int m = rand() % known;
                if (strstr(names[m], ".filter") && !strstr(names[m], "_error")) {
                    some_filter(filter, sizeof filter);
                    int sts = store(ids[m], filter, rand() % 20, rand() % 2 ? rand() % 12 : 0);
                    stores++;
                    bad = lost(sts);
                    i = 1;
                }
            }
        } else if (kind == 3) { /* one metric again and again */
            pmID id = ids[rand() % known];
            for (int i = 0; i < n; i++)
                list[i] = id;
            bad = fetch("again", n, list);
        } else if (kind == 4) { /* event records */
            int found = 0;
            for (int tries = 0; tries < 4000 && found < n; tries++) {
                int m = rand() % known;
                if (strstr(names[m], "records") || strstr(names[m], ".table"))
                    list[found++] = ids[m];
            }
            bad = found && fetch("records", found, list);
        } else {
            for (int i = 0; i < n; i++)
                list[i] = ids[rand() % known];
            bad = fetch("many", n, list);
        }
        requests++;
        if (!bad) {
            gone_since = 0;
            continue;
        }
        failed++;
        if (gone_since == 0)
            gone_since = now();
        if (now() - gone_since > 30)
            break;
        usleep(100000);
        pmReconnectContext(pmWhichContext());
    }
    printf("%ld requests, %ld stores, %ld without an answer; longest %.3f s\n", requests, stores, failed, longest);
    return failed != 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "see the head of hostile_client.c\n");
        return 2;
    }
    int sts = pmNewContext(PM_CONTEXT_HOST, argv[1]);
    if (sts < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], pmErrStr(sts));
        return 2;
    }
    const char *what = argv[2];
    int status = 2;
    if (strcmp(what, "again") == 0 && argc == 5) {
        status = fetch(what, atoi(argv[4]), repeated(lookup(argv[3]), atoi(argv[4])));
    } else if (strcmp(what, "exclude") == 0 && argc == 6) {
        pmDesc desc;
        pmID id = lookup(argv[3]);
        pmLookupDesc(id, &desc);
        exclude(desc.indom, atoi(argv[5]));
        status = fetch(what, atoi(argv[4]), repeated(id, atoi(argv[4])));
    } else if (strcmp(what, "both") == 0 && argc == 5) {
        char name[512];
        int n = atoi(argv[4]);
        pmID *list = malloc(2 * (size_t)n * sizeof *list);
        snprintf(name, sizeof name, "%s.records", argv[3]);
        pmID low = lookup(name);
        snprintf(name, sizeof name, "%s.highres_records", argv[3]);
        pmID high = lookup(name);
        for (int i = 0; i < n; i++) {
            list[2 * i] = low;
            list[2 * i + 1] = high;
        }
        status = fetch(what, 2 * n, list);
    } else if (strcmp(what, "all") == 0 && argc == 4) {
        pmTraversePMNS("apm", learn);
        int n = known * atoi(argv[3]) < REQUEST ? known * atoi(argv[3]) : REQUEST;
        pmID *list = malloc((size_t)n * sizeof *list);
        for (int i = 0; i < known; i++)
            ids[i] = lookup(names[i]);
        for (int i = 0; i < n; i++)
            list[i] = ids[i % known];
        status = fetch(what, n, list);
    } else if (strcmp(what, "filter") == 0 && argc == 6) {
        char name[512];
        snprintf(name, sizeof name, "%s.filter", argv[3]);
        sts = store(lookup(name), contents(argv[4]), 0, 0);
        printf("stored: %s\n", sts < 0 ? pmErrStr(sts) : "ok");
        snprintf(name, sizeof name, "%s.highres_records", argv[3]);
        pmID id = lookup(name);
        status = lost(sts);
        for (int i = 0; i < atoi(argv[5]); i++)
            status |= fetch(what, 1, &id);
    } else if (strcmp(what, "instances") == 0 && argc == 7) {
        char name[512];
        snprintf(name, sizeof name, "%s.filter", argv[3]);
        pmID id = lookup(name);
        int count = atoi(argv[5]), bad = 0;
        for (int at = 0; at < count; at += 10) {
            sts = store(id, contents(argv[4]), at, count - at < 10 ? count - at : 10);
            bad += sts < 0;
            if (sts < 0 && !quiet) {
                printf("refused: %s\n", pmErrStr(sts));
                quiet = 1;
            }
        }
        printf("filters set\n");
        fflush(stdout);
        sleep((unsigned)atoi(argv[6]));
        status = 0;
    } else if (strcmp(what, "storm") == 0 && argc == 5) {
        status = storm(argv[1], atoi(argv[3]), (unsigned)atoi(argv[4]));
    }
    fprintf(stderr, "longest %.3f s\n", longest);
    return status;
}
