// Garbage for the collector, with a result that checks the counters.
// usage: GcChurn SECONDS|FILE [PAUSE_MS]     prints "gen0 N gen1 M" as its last act
// It ends after the time, or when the file exists.
// N is the runtime's `GC/Minor GC collections`, M its `GC/Major GC collections`.
using System;
using System.Diagnostics;
using System.IO;
using System.Threading;

static class GcChurn
{
    const int Workers = 2;
    static volatile bool over;

    static void Churn(int pause)
    {
        var survivors = new object[5000];
        for (int round = 0; !over; round++)
        {
            for (int i = 0; i < 2000; i++)
            {
                var block = new byte[16 + (i * 37 + round) % 800];
                if (i % 8 == 0) survivors[(i * 31 + round) % survivors.Length] = block;
            }
            if (round % 16 == 0) survivors[round % survivors.Length] = new byte[200000];
            Thread.Sleep(pause);
        }
    }

    static void Main(string[] args)
    {
        double seconds;
        bool timed = double.TryParse(args[0], out seconds);
        int pause = args.Length > 1 ? int.Parse(args[1]) : 1;
        var threads = new Thread[Workers];
        for (int i = 0; i < Workers; i++)
        {
            threads[i] = new Thread(() => Churn(pause));
            threads[i].Start();
        }
        var watch = Stopwatch.StartNew();
        for (int turn = 1; timed ? watch.Elapsed.TotalSeconds < seconds : !File.Exists(args[0]); turn++)
        {
            Thread.Sleep(50);
            if (turn % 20 == 0) GC.Collect(1);
        }
        over = true;
        foreach (var thread in threads) thread.Join();
        // With an empty nursery: to print needs memory, and a collection for it would be one more than is printed.
        GC.Collect(0);
        Console.WriteLine("gen0 {0} gen1 {1}", GC.CollectionCount(0), GC.CollectionCount(1));
    }
}
