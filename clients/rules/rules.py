"""The list of rules: what make_rules.py makes the files of pmieconf and of Prometheus and the table of docs/alerts.md of.

    name, summary   apm.NAME of pmieconf, ApmName of Prometheus; what a message begins with
    when            the condition, for both: condition.py has the language
    more            comparisons of which each also makes it true, in Prometheus only: no group of pmlogconf has their metrics
    why             what it means, in words; `threshold` is the number of that name
    look            the command that shows the cause
    place           and in the page: the id of what it shows there
    remedy          what to do then
    numbers         those that can be changed, with what they are
    hold            how long it must be true in Prometheus; pmie takes the mean of its interval, 2 minutes

A rule is silent in an archive that lacks one of its metrics: the groups of pmlogconf have them all (qa/090)."""
from model import Rule, Threshold

LOST = Threshold(0, "Records a second.")
SLOW = "Log event records each second, or raise events.memory or events.max_records in apm.toml."


def number(value, what, **more):
    """The numbers of a rule with one threshold, or with another number too."""
    return {"threshold": Threshold(value, what), **{name: Threshold(*of) for name, of in more.items()}}


def lost(source, whose, *kinds, more=()):
    """Records of these kinds that a client that reads them has not seen."""
    when, others = (" or ".join(f"apm.{kind}.lost > threshold count/sec" for kind in some) for some in (kinds, more))
    return Rule(f"{source}_records_lost", f"Event records of {whose} are dropped unseen", when, "The slowest client that reads them, often pmlogger, "
                "fetches too seldom.", "pmrep :apm-self", "cost", SLOW, {"threshold": LOST}, hold="", shows="[%i]@%h", more=others)


RULES = [
    Rule("agent_lost", "Runtime agent gone without good-bye",
         "apm.agent.lost > 0 count/sec",
         "The connection of an agent ended otherwise than an agent ends it: its process was killed or has crashed, or the network is gone.",
         "pcp apm agents", "overview", "apm.agent.state has the reason; the kernel's log has processes that it killed for want of memory.",
         {}, hold="", shows="%i@%h"),
    Rule("agent_silent", "Runtime agent connected and silent",
         "apm.agent.idle > threshold sec and apm.agent.up == 1",
         "An agent is connected and has sent nothing for threshold seconds: its process hangs, or is stopped.",
         "pcp apm agents", "overview", "ps shows whether it is stopped (state T) or waits for a disk (D).",
         number(300, "Seconds of silence."), hold="1m", shows="%i@%h"),

    Rule("mono_gc_share", "Share of time in Mono's garbage collections",
         "apm.mono.counter.gc.minor_gc_time + apm.mono.counter.gc.major_gc_time > threshold%",
         "A Mono process spends more than threshold percent of its time in collections. Needs the module, or its log profiler with counter: the "
         "shared area, which each process has, counts collections (apm.mono.runtime.gc_collections0) but has no times.",
         "pmrep :mono-gc", "collections", "Allocate fewer objects, or enlarge the nursery (MONO_GC_PARAMS=nursery-size=64m).",
         number(20, "Percent of time in collections.")),
    Rule("mono_pauses", "Share of time in Mono's garbage collection pauses",
         "apm.mono.gc.pause.total > threshold%",
         "A Mono process is paused for collections for more than threshold percent of the time, by kind of pause. Needs its log profiler with gc.",
         "pmrep :mono-gc", "collections", "Allocate fewer objects, or try MONO_GC_PARAMS=major=marksweep-conc.",
         number(20, "Percent of time in pauses.")),
    Rule("mono_exceptions", "Many exceptions in a Mono process",
         "apm.mono.exceptions.count > threshold count/sec",
         "A Mono process throws more than threshold exceptions a second. Each process has them, by its shared area.",
         "pmrep :mono-exceptions", "exceptions", "apm.mono.exceptions.by_site has the methods that throw, with the log profiler with exception.",
         number(100, "Exceptions a second.")),
    Rule("mono_locks", "Threads of a Mono process wait for locks",
         "apm.mono.lock.contention.time > threshold%",
         "The threads of a Mono process together wait for locks for more than threshold percent of the time; 100 percent is one thread that always "
         "waits. Needs its log profiler with monitor (mono-log): the shared area, which each process has, counts contended locks "
         "(apm.mono.runtime.contentions) but has no times.",
         "pmrep :mono-locks", "locks", "Hold the locks that it names for a shorter time.",
         number(100, "Percent of time, of all threads.")),
    lost("mono", "Mono", "mono.event.sample", "mono.event.gc", "mono.event.exception", "mono.event.contention"),

    Rule("java_pauses", "Share of time that a JVM stands still",
         "apm.profiler.suspend.time > threshold%",
         "A JVM stands still for more than threshold percent of the time: collections, safepoints, lack of processors, swapping.",
         "pcp apm events profiler.pause", "charts", "pmrep :jvm-pauses tells collections from safepoints; if it has neither, look for swapping and for the processors of the container. "
         "pcp apm tree has how long each slow call stood still.",
         number(10, "Percent of time in pauses.")),
    Rule("java_errors", "Calls of a Java service fail",
         "apm.profiler.service.errors / apm.profiler.service.count > threshold% and apm.profiler.service.count > calls count/sec",
         "More than threshold percent of the calls of a service fail, over all of its pods.",
         "pcp apm --failed traces", "records", "pcp apm trace ID draws one. Calls without an id are in apm.profiler.event.call.table, those with status error with their address.",
         number(5, "Percent of failed calls.", calls=(1, "Fewer a second are not looked at."))),
    Rule("java_latency", "Calls of a Java service are slow",
         "apm.profiler.service.latency.p99 > threshold msec",
         "One of a hundred calls of the last minute took longer than threshold milliseconds, over all pods of a service.",
         "pcp apm tree", "trees", "It has the methods of the slowest calls and how long the JVM stood still in them; pcp apm methods has those of all calls, pcp apm traces their requests.",
         number(5000, "Milliseconds of the 99th percentile.")),
    lost("java", "Java pods", "profiler.event.call", more=["profiler.event.pause"]),

    Rule("zorka_errors", "Spans of a Zorka service fail",
         "apm.zorka.service.errors / apm.zorka.service.count > threshold% and apm.zorka.service.count > calls count/sec",
         "More than threshold percent of the spans of a service fail, over all of its agents.",
         "pcp apm --failed traces", "traces", "pcp apm trace ID draws one with its error, pcp apm events zorka.exception has class, message and method.",
         number(5, "Percent of failed spans.", calls=(1, "Fewer a second are not looked at."))),
    Rule("zorka_latency", "Spans of a Zorka service are slow",
         "apm.zorka.service.latency.p99 > threshold msec",
         "One of a hundred spans of the last minute took longer than threshold milliseconds, over all agents of a service.",
         "pcp apm traces", "trees", "pcp apm trace ID draws one with its statements, pcp apm tree has the methods of the slowest; pmrep :zorka-statements has all SQL by time.",
         number(5000, "Milliseconds of the 99th percentile.")),
    lost("zorka", "Zorka agents", "zorka.event.span", more=["zorka.event.exception"]),

    Rule("dotnet_gc_share", "Share of time in .NET's garbage collections",
         "apm.dotnet.gc.pause.total > threshold%",
         "A .NET process is paused for collections for more than threshold percent of the time.",
         "pmrep :dotnet-gc", "collections", "Rows by reason tell whether it is allocation, memory of the container or GC.Collect(); allocate less, or set DOTNET_gcServer=1.",
         number(20, "Percent of time in pauses.")),
    Rule("dotnet_starvation", "Thread pool of a .NET process starves",
         "apm.dotnet.pool.starvation > threshold count/min",
         "All threads of the pool are blocked, and the runtime adds more: more than threshold times a minute.",
         "pmrep :dotnet", "charts", "Usually work items wait for others (.Result, .Wait()): await them.",
         number(2, "Times a minute."), hold=""),
    Rule("dotnet_exceptions", "Many exceptions in a .NET process",
         "apm.dotnet.exceptions.count > threshold count/sec",
         "A .NET process throws more than threshold exceptions a second.",
         "pmrep :dotnet-exceptions", "exceptions", "apm.dotnet.exceptions.by_type has their types, pcp apm events dotnet.exception their stacks.",
         number(100, "Exceptions a second.")),
    Rule("dotnet_locks", "Threads of a .NET process wait for locks",
         "apm.dotnet.lock.contention.time > threshold%",
         "The threads of a .NET process together wait for locks for more than threshold percent of the time; 100 percent is one thread that always "
         "waits.",
         "pmrep :dotnet-locks", "locks", "Hold the locks that it names for a shorter time.",
         number(100, "Percent of time, of all threads.")),
    lost("dotnet", ".NET processes", "dotnet.event.gc", "dotnet.event.exception", "dotnet.event.contention", "dotnet.event.pool",
         "dotnet.event.application"),

    Rule("jvm_heap", "Heap of a JVM is near its limit",
         "apm.jvm.gc.heap.total / apm.jvm.gc.heap.max > threshold% and apm.jvm.gc.pause.count > 0 count/sec",
         "A JVM collects, and in none of five samples its heap was below threshold percent of -Xmx: collections free too little, and "
         "OutOfMemoryError is near.",
         "pmrep :jvm-heap", "jvm", "See apm.jvm.memory.pool.used over days. If old grows it is a leak: jcmd PID GC.class_histogram has the classes. Else raise -Xmx, and the "
         "container's limit with it.",
         number(85, "Percent of the limit of the heap."), always=True,
         pmie="all_sample ( apm.jvm.gc.heap.total @0..4 > $threshold$ / 100 * apm.jvm.gc.heap.max @0..4 )\n"
              "    && some_sample ( apm.jvm.gc.pause.count @0..4 > 0 count/sec )",
         prometheus="min_over_time(apm_jvm_gc_heap_total[10m]) / apm_jvm_gc_heap_max > {threshold} "
                    "and increase(apm_jvm_gc_pause_count[10m]) > 0"),
    Rule("jvm_gc_share", "Share of time in a JVM's garbage collections",
         "apm.jvm.gc.pause.total > threshold%",
         "A JVM is paused for collections for more than threshold percent of the time.",
         "pmrep :jvm-gc", "collections", "Rows full mean that the heap is too small or asked for by System.gc(), rows young that much is allocated. A larger -Xmx, fewer objects, or "
         "ZGC (-XX:+UseZGC) for large heaps.",
         number(10, "Percent of time in pauses.")),
    Rule("jvm_metaspace", "Collections of a JVM are for want of metaspace",
         "apm.jvm.gc.pause.count > threshold count/min",
         "A JVM has more than threshold pauses a minute, and two of five samples have full metaspace as the cause of the last one: OutOfMemoryError "
         "is near. The performance data has no limit of metaspace, so the cause of the last collection is what tells.",
         "pmrep :jvm-heap", "jvm", "See rows metaspace, and apm.jvm.classes over days. If both grow, class loaders leak: jcmd PID VM.classloader_stats has them. Else raise "
         "-XX:MaxMetaspaceSize.",
         number(2, "Pauses a minute."),
         pmie='( 40 %_sample ( apm.jvm.gc.last_cause @0..4 == "Metadata GC Threshold" )\n'
              '        || 40 %_sample ( apm.jvm.gc.last_cause @0..4 == "Metadata GC Clear Soft References" ) )\n'
              "    && all_sample ( apm.jvm.gc.pause.count @0..4 > $threshold$ / 60 count/sec )",
         # The cause is a text.
         prometheus=""),
    Rule("jvm_container_limit", "Memory limit of a container is below that of its JVM's heap",
         "apm.jvm.memory.limit / apm.jvm.gc.heap.max < threshold%",
         "The container may use less memory than threshold percent of -Xmx: it is killed before the heap is full, without an OutOfMemoryError. pmie "
         "compares only while each JVM of the host is read and has a limit; the rule of Prometheus always does.",
         "pmrep :jvm", "jvm", "See columns max and limit. A JVM needs a quarter more than its heap: raise the limit, or lower -Xmx (-XX:MaxRAMPercentage=75 follows the limit).",
         number(100, "Percent of the limit of the heap that the container must have.")),
    Rule("jvm_container_memory", "Resident memory of a JVM is near the limit of its container",
         "apm.jvm.memory.working_set / apm.jvm.memory.limit > threshold%",
         "A JVM has more than threshold percent of its container's memory limit resident: the kernel kills it at the limit. pmie compares only while "
         "each JVM of the host is read and has a limit; the rule of Prometheus always does.",
         "pmrep :jvm", "jvm", "See columns res and limit, and pmrep :jvm-heap: what is not in heap and metaspace is memory of threads, buffers and native libraries. Raise the "
         "limit or lower -Xmx, -Xss or -XX:MaxDirectMemorySize.",
         number(90, "Percent of the limit of the container.")),
    Rule("jvm_safepoints", "Share of time that a JVM stands still outside of collections",
         "apm.jvm.safepoint.time + apm.jvm.safepoint.sync_time - apm.jvm.gc.pause.total > threshold%",
         "The time at safepoints without the pauses of collections, and the time to stop all threads, is more than threshold percent.",
         "pmrep :jvm-pauses", "jvm", "If stopping is large, threads are slow to stop by too few processors (apm.jvm.cpus.limit), swapping (apm.jvm.memory.swap), long counted "
         "loops. Else java -Xlog:safepoint names the operations: thread dumps, biased locks of JDK 8 and 11, deoptimization.",
         number(10, "Percent of time at safepoints.")),
    lost("jvm", "JVMs", "jvm.event.gc", "jvm.event.exception", "jvm.event.contention"),

    Rule("lttng_discarded", "LTTng discards events",
         "apm.lttng.session.discarded > threshold count/sec",
         "The tracer discards events, since its buffers are full.",
         "pmrep :lttng", "lttng", "Raise subbuf_size and num_subbuf in apm.toml, or of the session; enable fewer events.",
         number(0, "Events a second."), hold=""),
    Rule("lttng_session", "Live session of LTTng is not read",
         "apm.lttng.session.up == 0",
         "The PMDA knows the session and does not read it.",
         "pmrep :lttng", "lttng", "apm.lttng.session.state has the reason.",
         {}),
    lost("lttng", "LTTng", "lttng.event.record"),

    Rule("refused", "pmdaapm refuses peers, names or memory",
         "apm.self.connection.refused + apm.self.names.rejected + apm.self.instances.rejected + apm.self.memory.refused > 0 count/sec",
         "A limit is reached.",
         "pmrep :apm-self", "cost", "See [limits] in apm.toml, and pmdaapm's log, which says which.",
         {}, hold="", of_host=True),
    Rule("panics", "pmdaapm had an internal error",
         "apm.self.panics > 0 count/sec",
         "pmdaapm goes on.",
         "pmrep :apm-self", "cost", "Please report it, with its log.",
         {}, hold="", of_host=True),
]
