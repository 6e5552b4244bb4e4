/* Read by bindgen (build.rs). time.h first: pmapi.h uses struct timeval and timespec. */
#include <time.h>
#include <sys/time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
/* Expressions and enums-in-macros that clang does not hand to bindgen as constants. */
