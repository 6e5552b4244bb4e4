/* Read by bindgen (build.rs). The time headers come first: pmapi.h uses struct timeval and struct timespec. */
#include <time.h>
#include <sys/time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
