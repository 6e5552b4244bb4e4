// A program for the shared area: throws, collects, has counters of its own, says what it did, and
// waits. Arguments: exceptions, collections, value of a counter (0: none), the file to say it in;
// then the exceptions that it throws right before it ends, when there is a file of that name with
// `.end` behind; then the program of Mono that it executes instead of ending, with its arguments.
using System;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Threading;

class Area {
    [DllImport("libc")]
    static extern int execvp(string file, string[] arguments);

    static void Throw() {
        try { throw new InvalidOperationException(); } catch (InvalidOperationException) { }
    }

    static void Main(string[] args) {
        int throws = int.Parse(args[0]), collections = int.Parse(args[1]), orders = int.Parse(args[2]);
        for (int i = 0; i < throws; i++) Throw();
        for (int i = 0; i < collections; i++) GC.Collect(0);
        if (orders > 0) {
            var counters = new CounterCreationDataCollection();
            counters.Add(new CounterCreationData("orders done", "", PerformanceCounterType.NumberOfItems64));
            counters.Add(new CounterCreationData("orders rate", "", PerformanceCounterType.RateOfCountsPerSecond32));
            PerformanceCounterCategory.Create("Shop", "", PerformanceCounterCategoryType.SingleInstance, counters);
            new PerformanceCounter("Shop", "orders done", false).RawValue = orders;
            new PerformanceCounter("Shop", "orders rate", false).RawValue = 2 * orders;
        }
        // Not of Console, which throws one exception in some versions.
        var text = System.Text.Encoding.ASCII.GetBytes("ready " + GC.CollectionCount(0) + "\n");
        using (var file = new System.IO.FileStream(args[3], System.IO.FileMode.Create)) file.Write(text, 0, text.Length);
        while (args.Length < 5 || !System.IO.File.Exists(args[3] + ".end")) Thread.Sleep(50);
        for (int i = 0; i < int.Parse(args[4]); i++) Throw();
        if (args.Length == 5) return;
        var next = new string[args.Length - 5 + 2];
        next[0] = "mono";
        Array.Copy(args, 5, next, 1, args.Length - 5);
        execvp("mono", next);
    }
}
