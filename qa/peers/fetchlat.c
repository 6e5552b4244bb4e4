/*
 * How long pmFetch takes, as a client of pmcd sees it. Compiles with PCP 5, 6 and 7:
 *
 *     gcc -O2 -Wall -o fetchlat fetchlat.c -lpcp
 *
 *     fetchlat HOST SECONDS N METRIC... [-- INSTANCE...] [/ N METRIC... [-- INSTANCE...]]...
 *         Fetches each group of metrics, restricted to the instances, again and again, and insists on N values. Groups
 *         take turns, 10 ms apart, so that what disturbs the machine disturbs them alike. A line for each group:
 *         first metric, values, fetches, then p50, p95, p99 and maximum in microseconds.
 *     fetchlat --tree HOST NAME
 *         Fetches all metrics below NAME in one pmFetch, three times: name, metrics, values, median in milliseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pcp/pmapi.h>

#define GROUPS	8
#define PAUSE	10000000	/* ns */

struct group {
    const char	*name;
    int		context;
    int		nmetrics;
    int		wanted;		/* values */
    pmID	*pmids;
    double	*took;		/* us */
    int		fetches;
};

static const char	**names;
static int		nnames;

static void
die(const char *what, int sts)
{
    if (sts < 0)
	fprintf(stderr, "fetchlat: %s: %s\n", what, pmErrStr(sts));
    else
	fprintf(stderr, "fetchlat: %s\n", what);
    exit(1);
}

static void *
grown(void *memory, size_t n, size_t size)
{
    if ((memory = realloc(memory, (n ? n : 1) * size)) == NULL)
	die("no memory", 0);
    return memory;
}

static double
now(void)
{
    struct timespec	t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int
ascending(const void *a, const void *b)
{
    double	x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Time of one pmFetch in microseconds; the number of values it brought goes to *values, an error of a metric to *error. */
static double
fetch(int n, pmID *pmids, int *values, int *error)
{
    pmResult	*result;
    double	start = now(), took;
    int		i, sts;

    if ((sts = pmFetch(n, pmids, &result)) < 0)
	die("pmFetch", sts);
    took = now() - start;
    for (*error = *values = i = 0; i < result->numpmid; i++)
	if (result->vset[i]->numval > 0)
	    *values += result->vset[i]->numval;
	else if (result->vset[i]->numval < 0)
	    *error = result->vset[i]->numval;
    pmFreeResult(result);
    return took;
}

static pmID *
lookup(int n, const char **metrics)
{
    pmID	*pmids = grown(NULL, n, sizeof(pmID));
    int		sts = pmLookupName(n, (void *)metrics, pmids);

    if (sts < 0)
	die(metrics[0], sts);
    if (sts != n)
	die("a metric is not known", 0);
    return pmids;
}

/* Only these instances, in the domain of every metric that has one. */
static void
restrict_to(struct group *g, int n, char **instances)
{
    int		i, j, sts;
    int		*ids = grown(NULL, n, sizeof(int));
    pmDesc	desc;
    pmInDom	done = PM_INDOM_NULL;

    for (i = 0; i < g->nmetrics; i++) {
	if ((sts = pmLookupDesc(g->pmids[i], &desc)) < 0)
	    die("pmLookupDesc", sts);
	if (desc.indom == PM_INDOM_NULL || desc.indom == done)
	    continue;
	for (j = 0; j < n; j++)
	    if ((ids[j] = pmLookupInDom(desc.indom, instances[j])) < 0)
		die(instances[j], ids[j]);
	if ((sts = pmDelProfile(desc.indom, 0, NULL)) < 0 || (sts = pmAddProfile(desc.indom, n, ids)) < 0)
	    die("profile", sts);
	done = desc.indom;
    }
    free(ids);
}

/* Reads a group from the arguments up to "/" or their end; the number of arguments used. */
static int
read_group(struct group *g, const char *host, int argc, char **argv)
{
    int		end, metrics, i;

    for (end = 0; end < argc && strcmp(argv[end], "/") != 0; end++)
	;
    for (metrics = 1; metrics < end && strcmp(argv[metrics], "--") != 0; metrics++)
	;
    if (metrics < 2)
	die("a group is: N METRIC... [-- INSTANCE...]", 0);
    g->wanted = atoi(argv[0]);
    g->name = argv[1];
    g->nmetrics = metrics - 1;
    if ((g->context = pmNewContext(PM_CONTEXT_HOST, host)) < 0)
	die(host, g->context);
    names = grown(NULL, g->nmetrics, sizeof(char *));
    for (i = 0; i < g->nmetrics; i++)
	names[i] = argv[i + 1];
    g->pmids = lookup(g->nmetrics, names);
    if (metrics + 1 < end)
	restrict_to(g, end - metrics - 1, argv + metrics + 1);
    return end < argc ? end + 1 : end;
}

static int
groups(const char *host, double seconds, int argc, char **argv)
{
    static struct group	all[GROUPS];
    struct group	*g;
    struct timespec	pause = { 0, PAUSE };
    double		end;
    int			n, i, used, values, error;

    for (n = 0; argc > 0; n++, argc -= used, argv += used) {
	if (n == GROUPS)
	    die("too many groups", 0);
	used = read_group(&all[n], host, argc, argv);
	all[n].took = grown(NULL, (size_t)(seconds * 1e9 / PAUSE) + 2, sizeof(double));
    }
    if (n == 0)
	die("no metrics", 0);
    for (i = 0, end = now() + seconds * 1e6; now() < end || i < 2 * n; i++) {
	nanosleep(&pause, NULL);
	g = &all[i % n];
	pmUseContext(g->context);
	g->took[g->fetches] = fetch(g->nmetrics, g->pmids, &values, &error);
	if (values != g->wanted) {
	    fprintf(stderr, "fetchlat: %s...: %d values instead of %d in fetch %d%s%s\n", g->name, values, g->wanted, i,
		    error ? ": " : "", error ? pmErrStr(error) : "");
	    return 1;
	}
	/* The first sends the profile and fills caches. */
	if (i >= n)
	    g->fetches++;
    }
    for (g = all; g < all + n; g++) {
	qsort(g->took, g->fetches, sizeof(double), ascending);
#define AT(part)	g->took[(int)((g->fetches - 1) * (part))]
	printf("%s %d %d %.0f %.0f %.0f %.0f\n", g->name, g->wanted, g->fetches, AT(0.5), AT(0.95), AT(0.99), AT(1));
    }
    return 0;
}

static void
visit(const char *name)
{
    names = grown(names, nnames + 1, sizeof(char *));
    if ((names[nnames++] = strdup(name)) == NULL)
	die("no memory", 0);
}

static int
tree(const char *host, const char *root)
{
    double	took[3];
    pmID	*pmids;
    int		i, sts, error, values = 0;

    if ((sts = pmNewContext(PM_CONTEXT_HOST, host)) < 0)
	die(host, sts);
    if ((sts = pmTraversePMNS(root, visit)) < 0)
	die(root, sts);
    pmids = lookup(nnames, names);
    for (i = 0; i < 3; i++)
	took[i] = fetch(nnames, pmids, &values, &error);
    fprintf(stderr, "%s: %.1f, %.1f, %.1f ms\n", root, took[0] / 1e3, took[1] / 1e3, took[2] / 1e3);
    qsort(took, 3, sizeof(double), ascending);
    printf("%s %d %d %.1f\n", root, nnames, values, took[1] / 1e3);
    return 0;
}

int
main(int argc, char **argv)
{
    pmSetProgname("fetchlat");
    if (argc == 4 && strcmp(argv[1], "--tree") == 0)
	return tree(argv[2], argv[3]);
    if (argc > 4)
	return groups(argv[1], atof(argv[2]), argc - 3, argv + 3);
    fprintf(stderr, "usage: fetchlat HOST SECONDS N METRIC... [-- INSTANCE...] [/ ...] | fetchlat --tree HOST NAME\n");
    return 2;
}
